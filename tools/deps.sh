#!/usr/bin/env bash
# Installs what tests, linters and the BPF build need from Debian. Does nothing
# where everything is there. What a user needs to build and run is only Go.
set -euo pipefail

packages=(
  # Building and checking the BPF objects.
  clang-19 clang-format-19 llvm-19 libbpf-dev
  # Linting.
  git shellcheck
  # Namespaces, peers and tools that the tests run.
  caddy conntrack curl dnsperf dnsutils ethtool haproxy httperf iperf3 iproute2 ipset iptables knot knot-dnsutils lftp libnginx-mod-stream nftables nginx-light nmap nsd openssl
  procps strace swaks systemd tcpdump tshark unbound vsftpd wrk
  # What else people run through a gateway.
  dnsmasq-base iputils-ping kea-dhcp-ddns-server kea-dhcp4-server openvpn sip-tester udhcpc wireguard-go wireguard-tools
  # What watches it.
  prometheus
  # What a single machine protects.
  openssh-server nfdump python3-zmq rsyslog rsyslog-gnutls tshark
  # Packages, and the machine that they are installed on.
  debootstrap lintian openssh-client rpm skopeo
  # Clients that hold on to addresses, and the resolvers before them.
  chromium default-jdk-headless firefox-esr libnss3-tools libsystemd-shared
)

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing+=("$package")
done
# Installed as a package, systemd-resolved takes over the machine's own names
# (/etc/resolv.conf). Where it is not there already, the program alone is unpacked.
resolved=/usr/local/lib/realmgate-test/systemd-resolved
[ -x /lib/systemd/systemd-resolved ] || [ -x $resolved ] || unpack=1

if [ ${#missing[@]} -eq 0 ] && [ -z "${unpack:-}" ]; then
  echo "deps: everything is installed"
  exit 0
fi

if ! command -v apt-get >/dev/null; then
  echo "deps: this needs Debian (apt-get); install what matches: ${missing[*]}" >&2
  exit 1
fi
if [ "$(id -u)" -ne 0 ]; then
  echo "deps: installing needs root: run sudo make deps. Missing: ${missing[*]}" >&2
  exit 1
fi

# The name server and the web server must not start by themselves: the tests run
# their own in namespaces. policy-rc.d is how a package is told so; one that
# stands there already is left alone.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  trap 'rm -f "$policy"' EXIT
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod 755 "$policy"
fi

echo "deps: installing ${missing[*]}${unpack:+ systemd-resolved (the program alone)}"
export DEBIAN_FRONTEND=noninteractive
apt=(apt-get -q -y -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3)
log=$(mktemp)
unpack_resolved() {
  local folder
  folder=$(mktemp -d) || return
  chmod 755 "$folder" # apt's own user downloads
  (cd "$folder" && "${apt[@]}" download systemd-resolved && dpkg-deb -x systemd-resolved_*.deb x &&
    install -D -m 755 x/lib/systemd/systemd-resolved "$resolved")
  local result=$?
  rm -rf "$folder"
  return $result
}
install_all() {
  "${apt[@]}" update || return
  if [ ${#missing[@]} -gt 0 ]; then
    "${apt[@]}" install --no-install-recommends "${missing[@]}" || return
  fi
  if [ -n "${unpack:-}" ]; then unpack_resolved; fi
}
if ! install_all >"$log" 2>&1 </dev/null; then
  cat "$log" >&2
  echo "deps: apt-get failed; its output is above" >&2
  rm -f "$log"
  exit 1
fi
rm -f "$log"

# Where an init runs, what was installed only now must not start at the next boot.
if [ -d /run/systemd/system ]; then
  for package in "${missing[@]}"; do
    case $package in
      caddy) systemctl --quiet disable caddy.service || true ;;
      haproxy) systemctl --quiet disable haproxy.service || true ;;
      knot) systemctl --quiet disable knot.service || true ;;
      nfdump) systemctl --quiet disable nfdump.service || true ;;
      rsyslog) systemctl --quiet disable rsyslog.service || true ;;
      nginx-light) systemctl --quiet disable nginx.service || true ;;
      unbound) systemctl --quiet disable unbound.service || true ;;
      nsd) systemctl --quiet disable nsd.service || true ;;
      nftables) systemctl --quiet disable nftables.service || true ;;
      openvpn) systemctl --quiet disable openvpn.service || true ;;
      openssh-server) systemctl --quiet disable ssh.service || true ;;
      prometheus) systemctl --quiet disable prometheus.service || true ;;
      vsftpd) systemctl --quiet disable vsftpd.service || true ;;
    esac
  done
fi
echo "deps: installed ${#missing[@]} packages"
