#include "transport/netns/address_translation.hh"

#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <sys/socket.h>

#include <cerrno>
#include <fstream>
#include <span>
#include <stdexcept>
#include <system_error>
#include <vector>

#include "transport/base/check.hh"

namespace cress::netns {
namespace {

constexpr const char* kChain = "leaving";
// Where a packet's source is changed, as in nftables' "srcnat".
constexpr uint32_t kSourcePriority = 100;
constexpr uint32_t kIpv4SourceOffset = 12;

NetlinkRequest batch_mark(uint16_t type) {
  nfgenmsg body{};
  body.res_id = htons(NFNL_SUBSYS_NFTABLES);
  return NetlinkRequest{type, 0, body};
}

NetlinkRequest change(int type) {
  nfgenmsg body{};
  body.nfgen_family = NFPROTO_IPV4;
  return NetlinkRequest{static_cast<uint16_t>(NFNL_SUBSYS_NFTABLES << 8 | type),
                        NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK, body};
}

NetlinkRequest new_table(const std::string& name) {
  NetlinkRequest request = change(NFT_MSG_NEWTABLE);
  request.add_text(NFTA_TABLE_NAME, name);
  request.add_big_endian(NFTA_TABLE_FLAGS, NFT_TABLE_F_OWNER);
  return request;
}

NetlinkRequest new_chain(const std::string& table) {
  NetlinkRequest request = change(NFT_MSG_NEWCHAIN);
  request.add_text(NFTA_CHAIN_TABLE, table);
  request.add_text(NFTA_CHAIN_NAME, kChain);
  const size_t hook = request.begin(NFTA_CHAIN_HOOK | NLA_F_NESTED);
  request.add_big_endian(NFTA_HOOK_HOOKNUM, NF_INET_POST_ROUTING);
  request.add_big_endian(NFTA_HOOK_PRIORITY, kSourcePriority);
  request.end(hook);
  request.add_text(NFTA_CHAIN_TYPE, "nat");
  return request;
}

/// Source address == `from`: masquerade.
NetlinkRequest new_rule(const std::string& table, std::span<const uint8_t> from) {
  NetlinkRequest request = change(NFT_MSG_NEWRULE);
  request.add_text(NFTA_RULE_TABLE, table);
  request.add_text(NFTA_RULE_CHAIN, kChain);
  const size_t expressions = request.begin(NFTA_RULE_EXPRESSIONS | NLA_F_NESTED);

  size_t element = request.begin(NFTA_LIST_ELEM | NLA_F_NESTED);
  request.add_text(NFTA_EXPR_NAME, "payload");
  size_t data = request.begin(NFTA_EXPR_DATA | NLA_F_NESTED);
  request.add_big_endian(NFTA_PAYLOAD_DREG, NFT_REG_1);
  request.add_big_endian(NFTA_PAYLOAD_BASE, NFT_PAYLOAD_NETWORK_HEADER);
  request.add_big_endian(NFTA_PAYLOAD_OFFSET, kIpv4SourceOffset);
  request.add_big_endian(NFTA_PAYLOAD_LEN, narrow<uint32_t>(from.size()));
  request.end(data);
  request.end(element);

  element = request.begin(NFTA_LIST_ELEM | NLA_F_NESTED);
  request.add_text(NFTA_EXPR_NAME, "cmp");
  data = request.begin(NFTA_EXPR_DATA | NLA_F_NESTED);
  request.add_big_endian(NFTA_CMP_SREG, NFT_REG_1);
  request.add_big_endian(NFTA_CMP_OP, NFT_CMP_EQ);
  const size_t value = request.begin(NFTA_CMP_DATA | NLA_F_NESTED);
  request.add(NFTA_DATA_VALUE, from);
  request.end(value);
  request.end(data);
  request.end(element);

  element = request.begin(NFTA_LIST_ELEM | NLA_F_NESTED);
  request.add_text(NFTA_EXPR_NAME, "masq");
  request.end(element);
  request.end(expressions);
  return request;
}

void check_forwarding() {
  int forwards = 0;
  std::ifstream{"/proc/sys/net/ipv4/ip_forward"} >> forwards;
  if (forwards == 0) {
    throw std::runtime_error(
        "this machine forwards no packets, so that nothing behind it reaches the internet; "
        "`sysctl -w net.ipv4.ip_forward=1` as root allows it");
  }
}

}  // namespace

AddressTranslation::AddressTranslation(const std::string& name, const Address& from)
    : socket_(NetlinkSocket::open(NETLINK_NETFILTER)) {
  check(from.is_ipv4(), "AddressTranslation: IPv4 only");
  check_forwarding();
  std::vector<NetlinkRequest> batch;
  batch.push_back(batch_mark(NFNL_MSG_BATCH_BEGIN));
  batch.push_back(new_table(name));
  batch.push_back(new_chain(name));
  batch.push_back(new_rule(name, std::span{from.ip}.subspan(12)));
  batch.push_back(batch_mark(NFNL_MSG_BATCH_END));
  if (const int error = socket_.exchange_all(batch)) {
    throw std::runtime_error(
        "cannot translate addresses (nftables): " + std::system_category().message(error) +
        (error == EPERM ? "; it takes root" : ""));
  }
}

}  // namespace cress::netns
