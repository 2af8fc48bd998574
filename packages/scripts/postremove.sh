#!/bin/sh
# When the files are gone. dpkg says "remove", then perhaps "purge"; rpm how many versions stay: 0 or 1.
set -eu

case $1 in
  remove | 0)
    if [ -d /run/systemd/system ]; then systemctl daemon-reload || :; fi # it forgets the unit later
    ;;
  purge)
    # /etc/realmgate.yaml stays: the package has not put it there. So do user and groups, which may own other files.
    if command -v deb-systemd-helper >/dev/null; then deb-systemd-helper purge realmgate.service >/dev/null; fi
    rm -rf /var/lib/realmgate /var/log/realmgate || : # a mount point stays, empty
    # In a chroot these are perhaps the machine's, whose gateway runs.
    if ! ischroot; then
      rm -rf /run/realmgate /sys/fs/bpf/realmgate || :
      # As systemd mounts it, unless others have pins there, whose users may have to pass. *.debug are the kernel's.
      if [ -d /sys/fs/bpf ] && [ -z "$(ls -A --ignore='*.debug' /sys/fs/bpf)" ]; then chmod 1700 /sys/fs/bpf || :; fi
    fi
    ;;
esac
