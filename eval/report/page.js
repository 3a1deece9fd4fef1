'use strict';
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const NONE = '\u2013';
  const DASHES = [[], [7, 3], [2, 3], [9, 3, 2, 3], [5, 5], [1, 2], [12, 4], [6, 2, 1, 2, 1, 2]];
  const SHAPES = ['circle', 'triangle', 'rect', 'rectRot'];
  const hidden = new Set();
  const charts = [];

  // ---- Small helpers -------------------------------------------------------------------------

  /** An element with text or children; nothing from the data ever becomes markup. */
  function make(tag, attributes, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      node.setAttribute(name, value);
    }
    node.append(...children);
    return node;
  }

  const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const rank = scheme => Math.max(data.schemes.indexOf(scheme), 0);
  const color = scheme => css(`--scheme-${rank(scheme) % 8}`);
  const dash = scheme => DASHES[(rank(scheme) + Math.floor(rank(scheme) / 8)) % 8];
  const shape = scheme => SHAPES[(rank(scheme) + Math.floor(rank(scheme) / 8)) % 4];
  const hollow = scheme => Math.floor(rank(scheme) / 4) % 2 === 1;
  const schemeName = scheme => (scheme === 'cress' ? 'Cress' : scheme);
  const isNumber = value => typeof value === 'number' && Number.isFinite(value);
  const alpha = (hex, share) => hex + Math.round(share * 255).toString(16).padStart(2, '0');

  function digits(value, places) {
    return value.toLocaleString('en-US', {minimumFractionDigits: places, maximumFractionDigits: places})
        .replaceAll(',', '\u2009');
  }

  const whole = value => digits(value, Math.abs(value) < 9.95 && value !== 0 ? 1 : 0);

  function time(ms) {
    if (ms < 999.5) return `${ms < 9.95 ? Number(ms.toPrecision(2)) : Math.round(ms)} ms`;
    const s = ms / 1000;
    return `${s < 9.995 ? Number(s.toPrecision(3)) : s < 99.95 ? Number(s.toPrecision(3)) : Math.round(s)} s`;
  }

  function rate(kbps) {
    if (kbps < 999.5) return `${Math.round(kbps)} kbit/s`;
    return `${Number((kbps / 1000).toPrecision(3))} Mbit/s`;
  }

  function bytes(value) {
    return value < 999.5 ? `${Math.round(value)} B` : `${Number((value / 1000).toPrecision(3))} kB`;
  }

  function direction(name) {
    return {forward: 'forward', reverse: 'reverse'}[name] || name;
  }

  const placeName = section => `${section.link}, ${direction(section.direction)}`;

  function swatch(scheme) {
    const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
    svg.setAttribute('class', 'swatch');
    svg.setAttribute('viewBox', '0 0 26 12');
    svg.setAttribute('aria-hidden', 'true');
    const line = document.createElementNS('http://www.w3.org/2000/svg', 'line');
    for (const [name, value] of Object.entries({x1: 1, x2: 25, y1: 6, y2: 6})) {
      line.setAttribute(name, value);
    }
    line.setAttribute('stroke-dasharray', dash(scheme).join(' '));
    line.style.stroke = `var(--scheme-${rank(scheme) % 8})`;
    line.style.strokeWidth = rank(scheme) === 0 ? '4' : '3';
    svg.append(line);
    return svg;
  }

  // ---- The numbers and what they mean ----------------------------------------------------------

  const share = value => `${digits(value * 100, 1)}`;
  const COLUMNS = [
    {key: 'throughput_kbps', label: 'Throughput', unit: 'kbit/s', best: Math.max, format: v => digits(v, 0),
     means: 'Everything that left the link in the scored time, headers included, by its length.'},
    {key: 'utilization', label: 'Link used', unit: '%', best: Math.max, format: share,
     means: 'Throughput as a share of what the link could have carried in the same time.'},
    {key: 'delay95_ms', label: 'Delay 95\u00a0%', unit: 'ms', best: Math.min, format: whole,
     means: 'How long ago the newest packet that has arrived was sent: for 95 % of the time it was at most this. Counted over time, not over packets, so silence counts too.'},
    {key: 'self_inflicted_ms', label: 'Self-inflicted', unit: 'ms', best: Math.min, format: whole,
     means: 'Delay 95 % less that of an all-knowing sender, whose packets wait nowhere: what the scheme itself has added.'},
    {key: 'frame_delay_p50_ms', label: 'Picture age 50\u00a0%', unit: 'ms', best: Math.min, format: whole, video: true,
     means: 'How long ago the picture on screen was captured: for half of the time it was at most this.'},
    {key: 'frame_delay_p95_ms', label: 'Picture age 95\u00a0%', unit: 'ms', best: Math.min, format: whole, video: true,
     means: 'The same for 95 % of the time (frame delay). A frozen picture grows older, so freezes count.'},
    {key: 'ssim_db', label: 'SSIM', unit: 'dB', best: Math.max, format: v => digits(v, 2), video: true,
     means: 'How close each shown picture is to its original: structural similarity S of the luma, averaged over time on screen, as \u221210 log\u2081\u2080(1 \u2212 S). 10 dB is S = .9, 20 dB is S = .99.'},
    {key: 'psnr_db', label: 'PSNR', unit: 'dB', best: Math.max, format: v => digits(v, 1), video: true,
     means: 'Peak signal to noise of the luma, averaged over time on screen.'},
    {key: 'frozen_s', label: 'Frozen', unit: 's (times)', best: Math.min, format: v => digits(v, 1), video: true,
     extra: n => (isNumber(n.freezes) ? ` (${digits(n.freezes, 0)})` : ''),
     means: 'Total time, and number, of freezes: gaps between shown frames longer than three mean gaps and than the mean gap and 150 ms.'},
    {key: 'frames_displayed', label: 'Shown', unit: '% of frames', best: Math.max, video: true,
     // A few frames that were captured before the scored time may appear in it.
     value: n => (isNumber(n.frames_displayed) && n.frames_captured > 0 ? Math.min(1, n.frames_displayed / n.frames_captured) : null),
     format: share, means: 'Frames that reached the screen, of those that the camera captured.'},
  ];
  const MORE_TERMS = [
    ['Capacity', 'What the link could have carried: each delivery opportunity of its trace is worth 1500 bytes.'],
    ['All-knowing sender', 'Packets that are sent just in time for each delivery opportunity and wait nowhere: no scheme can have less delay on this link.'],
    ['Goodput', 'What the application got, once and in time, without headers.'],
    ['Scored time', 'The start of a run is left out, so that start-up is not measured. The shaded parts of the charts are not scored.'],
  ];

  const valueOf = (column, numbers) => {
    const value = column.value ? column.value(numbers) : numbers[column.key];
    return isNumber(value) ? value : null;
  };

  /** The columns that any result of the page has something to say about. */
  for (const section of data.sections) {
    for (const list of [section.results, section.timelines, section.frames, section.groups || []]) {
      list.sort((a, b) => rank(a.scheme) - rank(b.scheme));
    }
  }
  const results = data.sections.flatMap(section => section.results);
  const columns = [...COLUMNS.filter(c => c.video && results.some(r => valueOf(c, r.numbers) !== null)),
                   ...COLUMNS.filter(c => !c.video)];
  /** What is compared: a sweep's groups of seeds, by their means, or single results. */
  const rowsOf = section => section.groups || section.results;
  const manySeeds = !data.sections.some(s => s.groups) && new Set(results.map(r => r.seed)).size > 1;
  const rowName = row => schemeName(row.scheme) + (row.options ? `, ${row.options}` : '');

  function resultRow(result, best) {
    const name = schemeName(result.scheme);
    const head = make('th', {scope: 'row', title: name}, swatch(result.scheme), name);
    if (manySeeds) head.append(make('small', {}, ` seed ${result.seed}`));
    if (result.options) head.append(make('small', {class: 'options'}, result.options));
    const row = make('tr', {}, head);
    for (const column of columns) {
      const value = valueOf(column, result.numbers);
      const cell = make('td', {}, value === null ? NONE : column.format(value));
      const half = result.half && !column.value ? result.half[column.key] : null;
      if (value !== null && isNumber(half)) cell.append(make('small', {}, ` \u00b1\u2009${column.format(half)}`));
      if (value !== null && column.extra && !result.half) cell.append(make('small', {}, column.extra(result.numbers)));
      if (value !== null && best.get(column) === column.format(value)) cell.className = 'best';
      row.append(cell);
    }
    return row;
  }

  /** What is printed for the best of each column; only where there is somebody to be better than. */
  function bestOf(section) {
    const best = new Map();
    for (const column of columns) {
      // Who knows the link is a yardstick, not a contender.
      const values = rowsOf(section).filter(r => r.scheme !== 'omniscient').map(r => valueOf(column, r.numbers)).filter(v => v !== null);
      const printed = new Set(values.map(column.format));
      if (printed.size > 1) best.set(column, column.format(column.best(...values)));
    }
    return best;
  }

  function linkFacts(section) {
    const first = key => section.results.map(r => r.numbers[key]).find(isNumber);
    const facts = [];
    if (isNumber(first('capacity_kbps'))) facts.push(`capacity ${rate(first('capacity_kbps'))}`);
    if (isNumber(first('omniscient95_ms'))) facts.push(`all-knowing sender ${time(first('omniscient95_ms'))}`);
    if (section.groups) {
      const seeds = [...new Set(section.groups.map(g => g.seeds))].sort((a, b) => a - b);
      facts.push(`${seeds.join(' or ')} seed${seeds.length === 1 && seeds[0] === 1 ? '' : 's'}: mean \u00b1 95 % confidence`);
    }
    return facts.join(' \u00b7 ');
  }

  function resultTable(section) {
    const head = make('tr', {}, make('th', {scope: 'col'}, 'Scheme'));
    for (const column of columns) {
      head.append(make('th', {scope: 'col', title: column.means}, column.label, make('small', {}, column.unit)));
    }
    const body = make('tbody');
    const best = bestOf(section);
    for (const row of rowsOf(section)) body.append(resultRow(row, best));
    const title = make('h3', {class: 'table-title'}, placeName(section) + ' ', make('small', {}, linkFacts(section)));
    return [title, make('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': `Results: ${placeName(section)}`},
                        make('table', {}, make('thead', {}, head), body))];
  }

  const VALUES_MAX = 60;  // columns that somebody might still read

  /** Everything the files say about a section, also what this page does not know. */
  function valuesTable(section) {
    const names = [];
    const note = name => { if (!names.includes(name)) names.push(name); };
    const known = section.results.slice(0, VALUES_MAX).map(r => new Map([
      ['seed', r.seed], ['window_s', `${r.window_s[0]}\u2013${r.window_s[1]}`],
      ...Object.entries(r.numbers).map(([name, v]) => [name, digits(v, Number.isInteger(v) ? 0 : 3)]),
      ...r.others,
    ]));
    known.forEach(values => values.forEach((_, name) => note(name)));
    const head = make('tr', {}, make('th', {scope: 'col'}, 'Key'), ...section.results.slice(0, VALUES_MAX).map(
        r => make('th', {scope: 'col'}, schemeName(r.scheme))));
    const body = make('tbody');
    for (const name of names) {
      body.append(make('tr', {}, make('th', {scope: 'row'}, name), ...known.map(values => {
        const value = values.get(name);
        return make('td', {}, value === undefined || value === '' || value === 'null' ? NONE : value);
      })));
    }
    const rest = section.results.length > VALUES_MAX ? ` (of the first ${VALUES_MAX} of ${section.results.length} results)` : '';
    return make('details', {}, make('summary', {}, `Every value${rest}`),
                make('div', {class: 'scroll'}, make('table', {class: 'values'}, make('thead', {}, head), body)));
  }

  // ---- Charts ------------------------------------------------------------------------------

  /** Shades what is not scored. */
  const unscored = {
    id: 'unscored',
    beforeDatasetsDraw(chart, _, options) {
      if (!options.window) return;
      const {ctx, chartArea: area, scales: {x}} = chart;
      const from = Math.max(x.getPixelForValue(options.window[0]), area.left);
      const to = Math.min(x.getPixelForValue(options.window[1]), area.right);
      ctx.save();
      ctx.fillStyle = css('--outside');
      if (from > area.left) ctx.fillRect(area.left, area.top, from - area.left, area.bottom - area.top);
      if (to < area.right) ctx.fillRect(to, area.top, area.right - to, area.bottom - area.top);
      ctx.restore();
    },
  };

  const CAPACITY_WORDS = 'the link\u2019s capacity';

  /** Lines that no scheme can pass: the link's capacity, the all-knowing sender's delay. */
  const limits = {
    id: 'limits',
    beforeDatasetsDraw(chart, _, options) {
      const {ctx, chartArea: area, scales: {x, y}} = chart;
      ctx.save();
      ctx.strokeStyle = css('--capacity-ink');
      ctx.fillStyle = css('--capacity-ink');
      ctx.font = `12px ${getComputedStyle(document.body).fontFamily}`;
      ctx.setLineDash([3, 3]);
      if (isNumber(options.y)) {
        const at = y.getPixelForValue(options.y);
        line(ctx, area.left, at, area.right, at);
        ctx.textAlign = 'right';
        ctx.fillText(CAPACITY_WORDS, area.right - 4, at - 6);
      }
      if (isNumber(options.x)) {
        const at = x.getPixelForValue(options.x);
        line(ctx, at, area.top, at, area.bottom);
        ctx.translate(at - 6, area.bottom - 6);
        ctx.rotate(-Math.PI / 2);
        ctx.textAlign = 'left';
        ctx.fillText('all-knowing sender', 0, 0);
      }
      ctx.restore();
    },
  };

  function line(ctx, x1, y1, x2, y2) {
    ctx.beginPath();
    ctx.moveTo(x1, y1);
    ctx.lineTo(x2, y2);
    ctx.stroke();
  }

  /** How sure a mean of several seeds is, each way. */
  const whiskers = {
    id: 'whiskers',
    beforeDatasetsDraw(chart) {
      const {ctx, chartArea: area, scales: {x, y}} = chart;
      const end = 4;
      ctx.save();
      ctx.lineWidth = 1.5;
      chart.data.datasets.forEach((set, i) => {
        if (!set.half || !chart.isDatasetVisible(i)) return;
        const [{x: atX, y: atY}] = set.data;
        const px = x.getPixelForValue(atX);
        const py = y.getPixelForValue(atY);
        ctx.strokeStyle = alpha(set.borderColor, 0.75);
        const within = (value, low, high) => Math.min(Math.max(value, low), high);
        if (isNumber(set.half.x) && set.half.x > 0) {
          const from = within(x.getPixelForValue(Math.max(atX - set.half.x, x.min)), area.left, area.right);
          const to = within(x.getPixelForValue(atX + set.half.x), area.left, area.right);
          line(ctx, from, py, to, py);
          for (const at of [from, to]) line(ctx, at, py - end, at, py + end);
        }
        if (isNumber(set.half.y) && set.half.y > 0) {
          const from = within(y.getPixelForValue(atY - set.half.y), area.top, area.bottom);
          const to = within(y.getPixelForValue(atY + set.half.y), area.top, area.bottom);
          line(ctx, px, from, px, to);
          for (const at of [from, to]) line(ctx, px - end, at, px + end, at);
        }
      });
      ctx.restore();
    },
  };

  const collide = (a, b) => a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;

  /** Writes each scheme's name beside its point, where it hides no other point or name. */
  const names = {
    id: 'names',
    beforeDatasetsDraw(chart, _, options) {
      if (!options.on) return;
      const {ctx, chartArea: area} = chart;
      ctx.save();
      ctx.font = `600 13px ${getComputedStyle(document.body).fontFamily}`;
      ctx.textBaseline = 'middle';
      ctx.fillStyle = css('--ink');
      const shown = chart.data.datasets.map((set, i) => ({set, point: chart.getDatasetMeta(i).data[0], on: chart.isDatasetVisible(i)}))
                        .filter(entry => entry.point && entry.on);
      const taken = shown.map(({point}) => ({x: point.x - 8, y: point.y - 8, width: 16, height: 16}));
      const capacity = chart.options.plugins.limits.y;
      if (isNumber(capacity)) {
        const width = ctx.measureText(CAPACITY_WORDS).width;
        taken.push({x: area.right - 4 - width, y: chart.scales.y.getPixelForValue(capacity) - 20, width, height: 22});
      }
      for (const {set, point} of shown) {
        const size = {width: ctx.measureText(set.label).width, height: 16};
        const places = [];
        for (const down of [0, -14, 14, -22, 22, -38, 38, -54, 54]) {
          places.push({x: point.x + 13, y: point.y - 8 + down, ...size}, {x: point.x - 13 - size.width, y: point.y - 8 + down, ...size});
          if (Math.abs(down) > 20) places.push({x: point.x - size.width / 2, y: point.y - 8 + down, ...size});
        }
        const inside = place => place.x >= area.left && place.x + place.width <= area.right && place.y >= area.top && place.y + 16 <= area.bottom;
        const place = places.find(p => inside(p) && !taken.some(t => collide(p, t))) || places[0];
        taken.push(place);
        if (Math.abs(place.y + 8 - point.y) > 10) {  // too far to be read as one: a leader ties them
          ctx.strokeStyle = set.borderColor;
          line(ctx, point.x, point.y, Math.min(Math.max(point.x, place.x), place.x + place.width), place.y + (place.y > point.y ? 1 : 15));
        }
        ctx.fillText(set.label, place.x, place.y + 8);
      }
      ctx.restore();
    },
  };

  function axis(title, format, extra) {
    return {
      title: {display: Boolean(title), text: title, color: css('--soft'), font: {size: 12}},
      grid: {color: css('--grid'), borderColor: css('--line'), tickLength: 4},
      ticks: {color: css('--soft'), callback: format, maxRotation: 0, maxTicksLimit: 8, font: {size: 12}},
      ...extra,
    };
  }

  const least = values => values.reduce((a, b) => Math.min(a, b), Infinity);
  const most = values => values.reduce((a, b) => Math.max(a, b), -Infinity);

  /** A logarithmic axis over the data with some room; labels at 1, 2 and 5 where they fit, else at 1. */
  function logAxis(title, format, values, room = 1.25) {
    const seen = values.filter(v => v > 0);
    const min = (seen.length ? least(seen) : 1) / room;
    const max = (seen.length ? most(seen) : 10) * room;
    function label(value) {
      const unit = 10 ** Math.floor(Math.log10(value) + 1e-9);
      const lead = Math.round(value / unit);
      if (Math.abs(value / unit - lead) > 1e-6) return null;
      const pixels = (this.isHorizontal() ? this.chart.width / 240 : this.chart.height / 65) / Math.log10(max / min);
      return lead === 1 || (pixels > 1 && (lead === 2 || lead === 5)) ? format(value) : null;
    }
    const made = axis(title, label, {type: 'logarithmic', min, max});
    made.ticks.maxTicksLimit = 100;
    made.ticks.autoSkip = false;
    return made;
  }

  function baseOptions(section, x, y, tooltip) {
    return {
      animation: false, responsive: true, maintainAspectRatio: false, normalized: true, parsing: false,
      interaction: {mode: 'nearest', axis: 'x', intersect: false},
      elements: {point: {radius: 0, hoverRadius: 4, hitRadius: 6}, line: {borderWidth: 1.8, borderJoinStyle: 'round'}},
      scales: {x, y},
      plugins: {
        legend: {display: false},
        tooltip: {callbacks: tooltip, boxPadding: 4, padding: 10},
        unscored: {window: section.results[0] ? section.results[0].window_s : null},
        names: {on: false},
        limits: {},
      },
    };
  }

  const timeAxis = max => axis('', value => `${value} s`, {type: 'linear', min: 0, max: Math.ceil(max)});

  /** A figure whose chart is made when it comes near the screen. */
  function figure(kind, title, caption, label, build, scheme) {
    const canvas = make('canvas', {role: 'img', 'aria-label': `${title}. ${label}`});
    const node = make('figure', {class: kind}, make('figcaption', {}, make('strong', {}, title), make('span', {}, caption)),
                      make('div', {class: 'plot'}, canvas));
    charts.push({node, canvas, build, scheme, chart: null});
    return node;
  }

  function xy(times, values, keep) {
    const points = [];
    for (let i = 0; i < times.length; ++i) {
      if (isNumber(values[i]) && (!keep || keep(values[i]))) points.push({x: times[i], y: values[i]});
    }
    return points;
  }

  /** At most `count` points: consecutive ones become one, at their first time. */
  function grouped(points, count, combine) {
    const size = Math.max(Math.ceil(points.length / count), 1);
    const result = [];
    for (let i = 0; i < points.length; i += size) {
      const group = points.slice(i, i + size);
      result.push({x: group[0].x, y: combine(group.map(p => p.y))});
    }
    return result;
  }

  const mean = values => values.reduce((a, b) => a + b, 0) / values.length;
  // A rate's line is read as a course, a delay's by its peaks.
  const course = points => grouped(points, 240, mean);
  const peaks = points => grouped(points, 500, most);

  function schemeLine(scheme, points, extra) {
    return {
      label: schemeName(scheme), scheme, data: points, borderColor: color(scheme), backgroundColor: color(scheme),
      borderDash: dash(scheme), borderWidth: rank(scheme) === 0 ? 2.4 : 1.7, order: 1 + rank(scheme), ...extra,
    };
  }

  const endOf = sets => sets.reduce((end, set) => Math.max(end, set.data.length ? set.data[set.data.length - 1].x : 0), 0);
  const allY = sets => sets.flatMap(set => set.data.map(p => p.y));

  function scatterChart(section, sets, xTitle, yTitle, xFormat, yFormat, limit) {
    const ends = (set, of) => [set.data[0][of], ...(set.half && isNumber(set.half[of]) ? [set.data[0][of] + set.half[of], set.data[0][of] - set.half[of]] : [])];
    const xs = sets.flatMap(s => ends(s, 'x')).filter(v => v > 0).concat(isNumber(limit.x) && limit.x > 0 ? [limit.x] : []);
    const ys = sets.flatMap(s => ends(s, 'y')).concat(isNumber(limit.y) ? [limit.y] : []);
    const x = logAxis(xTitle, xFormat, xs, 1.5);
    // Without zero on the axis, a small difference must not look large: at least 4 dB are shown.
    const room = Math.max(4 - (most(ys) - least(ys)), 1) / 2;
    const y = axis(yTitle, yFormat, limit.fromZero ? {min: 0, suggestedMax: most(ys) * 1.1}
                                                   : {min: Math.floor(least(ys) - room), max: Math.ceil(most(ys) + room)});
    const options = baseOptions(section, x, y, {
      title: () => '',
      label: item => `${item.dataset.label}: ${yFormat(item.parsed.y)} at ${xFormat(item.parsed.x)}`,
    });
    options.interaction = {mode: 'nearest', intersect: true};
    options.plugins.unscored.window = null;
    options.plugins.names.on = true;
    options.plugins.limits = {x: limit.x, y: limit.y};
    return {type: 'scatter', data: {datasets: sets}, options, plugins: [limits, whiskers, names]};
  }

  function scatterSets(section, xKey, yKey) {
    return rowsOf(section).filter(r => r.numbers[xKey] > 0 && isNumber(r.numbers[yKey])).map(r => ({
      label: rowName(r), scheme: r.scheme, half: r.half ? {x: r.half[xKey], y: r.half[yKey]} : null, data: [{x: r.numbers[xKey], y: r.numbers[yKey]}],
      backgroundColor: hollow(r.scheme) ? css('--card') : color(r.scheme), borderColor: color(r.scheme), borderWidth: 2.5, pointStyle: shape(r.scheme),
      radius: rank(r.scheme) === 0 ? 8 : 6.5, hoverRadius: 9, order: 1 + rank(r.scheme),
    }));
  }

  function lineChart(section, sets, y, format) {
    const options = baseOptions(section, timeAxis(endOf(sets)), y, {
      title: items => (items.length ? `${digits(items[0].parsed.x, 1)} s` : ''),
      label: item => `${item.dataset.label}: ${format(item.parsed.y)}`,
    });
    return {type: 'line', data: {datasets: sets}, options, plugins: [unscored]};
  }

  function rateChart(section) {
    const sets = section.timelines.map(t => schemeLine(t.scheme, course(xy(t.t, t.rate))));
    const link = section.timelines.find(t => t.capacity.some(isNumber));
    if (link) {
      sets.push({
        label: 'Capacity', capacity: true, data: course(xy(link.t, link.capacity)), fill: 'origin', backgroundColor: css('--capacity'),
        borderColor: css('--capacity-ink'), borderWidth: 0.8, order: 100,
      });
    }
    return lineChart(section, sets, axis('', value => rate(value), {type: 'linear', min: 0}), rate);
  }

  function delayChart(section) {
    const sets = section.timelines.map(t => schemeLine(t.scheme, peaks(xy(t.t, t.delay, v => v > 0))));
    return lineChart(section, sets, logAxis('', time, allY(sets)), time);
  }

  function ageChart(section) {
    const sets = section.frames.map(f => schemeLine(f.scheme, peaks(xy(f.age_t, f.age, v => v > 0))));
    return lineChart(section, sets, logAxis('', time, allY(sets)), time);
  }

  function ssimChart(section) {
    const sets = section.frames.map(f => schemeLine(f.scheme, course(xy(f.t, f.ssim))));
    return lineChart(section, sets, axis('', value => `${value} dB`, {type: 'linear', grace: '5%'}), v => `${digits(v, 1)} dB`);
  }

  function sizeChart(section, log) {
    const budget = xy(log.t, log.budget, v => v > 0);
    const fits = [];
    const over = [];
    log.t.forEach((t, i) => {
      if (log.size[i] > 0) (log.size[i] > log.budget[i] && isNumber(log.budget[i]) ? over : fits).push({x: t, y: log.size[i]});
    });
    const sets = [
      {label: 'Over budget', data: over, showLine: false, pointRadius: 2.4, pointStyle: 'triangle', backgroundColor: css('--warn'), borderColor: css('--warn'), borderWidth: 0, order: 1},
      {label: 'Frame', data: fits, showLine: false, pointRadius: 1.6, backgroundColor: color(log.scheme), borderColor: color(log.scheme), borderWidth: 0, order: 2},
      {label: 'Budget', data: budget, borderColor: css('--capacity-ink'), backgroundColor: css('--capacity'), borderWidth: 1, fill: 'start', stepped: true, order: 3},
    ];
    return lineChart(section, sets, logAxis('', bytes, allY(sets)), bytes);
  }

  function fitWords(log) {
    const {fit} = log;
    const words = [];
    if (fit.with_budget > 0) {
      words.push(`${digits(fit.over_share * 100, 1)} % of frames over their budget, 95 % within ${digits(fit.ratio_p95, 2)} times`);
    }
    if (fit.skipped > 0) words.push(`${digits(fit.skipped, 0)} of ${digits(fit.frames, 0)} frames skipped`);
    const thinned = log.t.length < fit.frames ? ` Of every ${Math.ceil(fit.frames / log.t.length)} frames the one that fits worst is drawn.` : '';
    return (words.length ? `${words.join('; ')}.` : '') + (fit.with_budget > 0 ? thinned : ' No budget was recorded for this scheme.');
  }

  // Beside the courses over time, where there are any; a sweep has none.
  const planeKind = section => (section.timelines.length ? 'tall' : 'half plane');

  function timelineFigures(section, grid) {
    const first = key => section.results.map(r => r.numbers[key]).find(isNumber);
    const speeds = scatterSets(section, 'delay95_ms', 'throughput_kbps');
    if (speeds.length) {
      grid.append(figure(planeKind(section), 'Throughput against delay', `Better is up and to the left. Delay: at most this for 95 % of the time.${section.groups ? ' Whiskers: 95 % confidence of the mean over seeds.' : ''}`, 'One point per scheme.',
          () => scatterChart(section, scatterSets(section, 'delay95_ms', 'throughput_kbps'), 'delay 95 %', '', time, rate,
                             {x: first('omniscient95_ms'), y: first('capacity_kbps'), fromZero: true})));
    }
    if (!section.timelines.length) return;
    const wide = speeds.length ? 'wide' : 'full';
    grid.append(figure(wide, 'Rate over the link\u2019s capacity', 'What left the link, over what the link could carry (grey); means of short stretches.', 'Time runs to the right.', () => rateChart(section)));
    grid.append(figure(wide, 'Delay over time', 'The age of the newest packet that has arrived; each point is the worst of its stretch.', 'Time runs to the right; the delay axis is logarithmic.', () => delayChart(section)));
  }

  function frameFigures(section, grid) {
    const pictures = scatterSets(section, 'frame_delay_p95_ms', 'ssim_db');
    if (pictures.length) {
      grid.append(figure(planeKind(section), 'Picture against its age', `Better is up and to the left. Age: at most this for 95 % of the time.${section.groups ? ' Whiskers: 95 % confidence of the mean over seeds.' : ''}`, 'One point per scheme.',
          () => scatterChart(section, scatterSets(section, 'frame_delay_p95_ms', 'ssim_db'), 'picture age 95 %', '', time, v => `${Number(v.toFixed(1))} dB`, {})));
    }
    if (!section.frames.length) return;
    const wide = pictures.length ? 'wide' : 'full';
    grid.append(figure(wide, 'Age of the picture on screen', 'Peaks are freezes. Each point is the oldest of its stretch.', 'Time runs to the right; the axis is logarithmic.', () => ageChart(section)));
    grid.append(figure(wide, 'Likeness to the original', 'SSIM of the shown frames; means of short stretches.', 'Time runs to the right.', () => ssimChart(section)));
    for (const log of section.frames.filter(f => f.size.some(isNumber))) {
      grid.append(figure('half', `Frame sizes and budgets: ${schemeName(log.scheme)}`, fitWords(log), 'Time runs to the right; the axis is logarithmic.',
                         () => sizeChart(section, log), log.scheme));
    }
  }

  /** Of each scheme the picture that stood longest, the oldest and the worst, with the reasons. */
  function worstMoments(section) {
    if (!section.worst.length) return [];
    const rows = data.schemes.map(scheme => [scheme, section.worst.filter(w => w.scheme === scheme)]).filter(([, all]) => all.length);
    return [
      make('h3', {}, 'Worst moments ', make('small', {}, 'what the viewer had on screen then')),
      ...rows.map(([scheme, all]) => {
        const node = make('div', {class: 'worst'}, make('p', {class: 'worst-of'}, swatch(scheme), schemeName(scheme)),
            ...all.map(w => make('figure', {}, make('img', {src: w.image, alt: `${schemeName(scheme)}: ${w.title}`}),
                                 make('figcaption', {}, make('strong', {}, w.title), make('span', {}, w.text)))));
        charts.push({node, scheme, chart: null});
        return node;
      }),
    ];
  }

  // ---- The page ----------------------------------------------------------------------------------

  function showHidden(entry) {
    if (entry.scheme) entry.node.hidden = hidden.has(entry.scheme);
    if (!entry.chart) return;
    entry.chart.data.datasets.forEach((set, i) => {
      if (set.scheme) entry.chart.setDatasetVisibility(i, !hidden.has(set.scheme));
    });
    entry.chart.update('none');
  }

  function draw(entry) {
    if (!entry.build) return;  // pictures
    if (entry.chart) entry.chart.destroy();
    entry.chart = new Chart(entry.canvas, entry.build());
    showHidden(entry);
  }

  function writeTop() {
    document.getElementById('lead').textContent = data.lead.replaceAll('-', '\u2011');
    document.title = `Cress report: ${data.lead}`;
    document.getElementById('lines').append(...data.lines.map(text => make('li', {}, text)));
    const unique = values => [...new Set(values)];
    const windows = unique(results.map(r => `${r.window_s[0]}\u2013${r.window_s[1]} s`));
    const seeds = unique(results.map(r => r.seed).filter(Boolean));
    const facts = [
      ['Schemes', data.schemes.map(schemeName).join(', ')],
      ['Links', unique(data.sections.map(s => s.link)).join(', ')],
      ['Directions', unique(data.sections.map(s => direction(s.direction))).join(', ')],
      ['Traffic', data.sections.some(s => s.frames.length) || results.some(r => isNumber(r.numbers.frame_delay_p95_ms)) ? 'video call' : 'saturating flow'],
      ['Scored', windows.join(', ')],
      [seeds.length > 1 ? 'Seeds' : 'Seed', seeds.length > 12 ? `${seeds.length} of them` : seeds.join(', ') || NONE],
    ];
    document.getElementById('facts').append(...facts.map(
        ([name, text]) => make('div', {}, make('dt', {}, name), make('dd', {}, text))));
    document.getElementById('made').textContent =
        `Made by Cress ${data.version} from ${data.sections.some(s => s.timelines.length) ? 'results.json, timeline.csv and frames.csv' : 'results.json'}. All data is inside this file; it needs no network.`;
  }

  function writeLegend() {
    const legend = document.getElementById('legend');
    for (const scheme of data.schemes) {
      const button = make('button', {type: 'button', 'aria-pressed': 'true', title: 'Hide or show in all charts'},
                          swatch(scheme), make('span', {}, schemeName(scheme)));
      button.addEventListener('click', () => {
        if (!hidden.delete(scheme)) hidden.add(scheme);
        button.setAttribute('aria-pressed', String(!hidden.has(scheme)));
        charts.forEach(showHidden);
      });
      legend.append(button);
    }
    legend.append(make('span', {class: 'capacity'}, make('i', {}), 'capacity of the link'));
  }

  function writeSections() {
    const tables = document.getElementById('tables');
    const host = document.getElementById('sections');
    for (const section of data.sections) {
      if (section.results.length) tables.append(...resultTable(section));
      const grid = make('div', {class: 'charts'});
      timelineFigures(section, grid);
      frameFigures(section, grid);
      host.append(make('section', {class: 'link-section', id: `link-${host.children.length + 1}`},
                       make('h2', {}, placeName(section) + ' ', make('small', {}, linkFacts(section))), grid, ...worstMoments(section),
                       ...(section.results.length ? [valuesTable(section)] : [])));
    }
    document.getElementById('terms').append(...columns.flatMap(c => [make('dt', {}, c.label), make('dd', {}, c.means)]),
        ...MORE_TERMS.flatMap(([term, means]) => [make('dt', {}, term), make('dd', {}, means)]));
  }

  /** Movies that lie beside the page: the film of two schemes, and what each viewer saw. */
  function writeMovies() {
    if (!data.film && !data.movies.length) return;
    const watch = document.getElementById('watch');
    const place = name => `./${encodeURIComponent(name)}`;
    if (data.film) {
      watch.append(make('figure', {class: 'full'},
          make('figcaption', {}, make('strong', {}, 'Side by side'),
               make('span', {}, 'What two viewers of the forward direction saw, with how long ago each picture was captured: the bar and the number grow while it stands still.')),
          // Its first second is black: no picture has arrived yet.
          make('video', {controls: '', preload: 'metadata', src: place(data.film) + '#t=1'})));
    }
    if (data.movies.length) {
      watch.append(make('p', {}, 'What each viewer saw and heard: ', ...data.movies.flatMap(
          (name, i) => [...(i ? [', '] : []), make('a', {href: place(name)}, name)]), '.'));
    }
    watch.hidden = false;
  }

  function drawWhenNear() {
    const observer = new IntersectionObserver(seen => {
      for (const {isIntersecting, target} of seen) {
        if (!isIntersecting) continue;
        observer.unobserve(target);
        draw(charts.find(entry => entry.node === target));
      }
    }, {rootMargin: '800px'});
    charts.forEach(entry => observer.observe(entry.node));
    addEventListener('beforeprint', () => charts.filter(entry => !entry.chart).forEach(draw));
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => charts.filter(entry => entry.chart).forEach(draw));
  }

  Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
  writeTop();
  writeLegend();
  writeMovies();
  writeSections();
  drawWhenNear();
})();
