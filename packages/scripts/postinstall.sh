#!/bin/sh
# After the files are there. dpkg says "configure [VERSION BEFORE]", rpm how many versions there are: 1 at first, 2 after an upgrade.
set -eu

unit=realmgate.service
configuration=/etc/realmgate.yaml
say() { echo "realmgate: $*" >&2; }
main_process() { systemctl show --property=MainPID --value $unit; }

# upgrade: the new program tells whether it can take the data plane over. If so, the gateway leaves it at work, and systemd's
# restart of the service is the new program; no session ends.
upgrade() {
  before=$(main_process)
  if why=$(realmgate check -c $configuration --upgrade 2>&1 && realmgate handover 2>&1); then
    # It says so before it ends. Only then does a start wait until names are answered again.
    seconds=0
    while [ "$(main_process)" = "$before" ] && [ $seconds -lt 30 ]; do
      sleep 1
      seconds=$((seconds + 1))
    done
    systemctl start $unit || say "the new version does not start: see journalctl -u $unit"
  else
    say "$why"
    say "so the version before goes on ($(systemctl show --property=StatusText --value $unit))."
    say "To change to the new one, and end these sessions: systemctl restart $unit"
  fi
}

# begin: a gateway starts only with a configuration that is right.
begin() {
  if [ ! -e $configuration ]; then
    say "write $configuration (an example is in /usr/share/doc/realmgate/examples), then: systemctl start $unit"
  elif why=$(realmgate check -c $configuration 2>&1); then
    "$@" || say "it does not start: see journalctl -u $unit"
  else
    say "$why"
    say "correct $configuration, then: systemctl start $unit"
  fi
}

systemd-sysusers realmgate.conf
booted=
if [ -d /run/systemd/system ]; then
  booted=yes
  systemctl daemon-reload || say "systemd has not read the new unit: systemctl daemon-reload"
  systemd-tmpfiles --create realmgate.conf || say "folders are missing: systemd-tmpfiles --create realmgate.conf" # as in a container
fi

case $1 in
  configure)
    # As debhelper does: what an administrator has disabled stays so.
    deb-systemd-helper unmask $unit >/dev/null
    if deb-systemd-helper --quiet was-enabled $unit; then
      deb-systemd-helper enable $unit >/dev/null
    else
      deb-systemd-helper update-state $unit >/dev/null
    fi
    ;;
  abort-remove) # it was stopped for that
    if [ -n "$booted" ]; then begin deb-systemd-invoke start $unit; fi
    exit 0
    ;;
  1) systemctl --no-reload preset $unit ;;
  2) ;;
  *) exit 0 ;; # dpkg puts back what it could not finish: nothing else has changed
esac

if [ -n "$booted" ]; then
  if systemctl --quiet is-active $unit; then
    upgrade
  elif [ "$1" = configure ]; then
    begin deb-systemd-invoke start $unit
  else # by rpm's custom the administrator starts services
    begin true
  fi
fi
