#!/bin/sh
# While the files are still there. dpkg says "remove" or "upgrade VERSION", rpm how many versions stay: 0 or 1.
set -eu

unit=realmgate.service
say() { echo "realmgate: $*" >&2; }
case $1 in remove | 0) ;; *) exit 0 ;; esac # the next version takes over

# denied: policy-rc.d is where Debian asks whether packages may stop services (deb-systemd-invoke does so, too).
policy=/usr/sbin/policy-rc.d
denied() { [ -x $policy ] && { $policy $unit stop >/dev/null 2>&1; [ $? -eq 101 ]; }; }

if [ ! -d /run/systemd/system ] || systemd-detect-virt --quiet --chroot; then
  : # nothing runs
elif denied; then
  if systemctl --quiet is-active $unit; then say "the gateway goes on: $policy denies it to be stopped. To stop it: systemctl stop $unit"; fi
else
  systemctl stop $unit || say "it does not stop: see journalctl -u $unit"
  # A gateway that was killed has left its data plane. One that starts takes it over, and takes it down as it stops.
  if [ -e /sys/fs/bpf/realmgate/default ]; then
    systemctl start $unit || :
    systemctl stop $unit || : # also one that is tried again and again
    if [ -e /sys/fs/bpf/realmgate/default ]; then
      say "a data plane is left at work: see journalctl -u $unit"
    fi
  fi
fi
if [ "$1" = 0 ]; then systemctl --no-reload disable $unit; fi
