#!/bin/sh
# After the files are there. dpkg says "configure [VERSION BEFORE]", rpm how many versions there are: 1 at first, 2 after an upgrade.
set -eu

unit=realmgate.service
configuration=/etc/realmgate.yaml
say() {
  said=$* # what commands say begins with their name already
  echo "realmgate: ${said#realmgate: }" >&2
}

# denied: policy-rc.d is where Debian asks whether packages may start and restart services (deb-systemd-invoke does so, too).
policy=/usr/sbin/policy-rc.d
denied() { [ -x $policy ] && { $policy $unit restart >/dev/null 2>&1; [ $? -eq 101 ]; }; }

# upgrade: the new program tells whether it can take the data plane over. If so, it goes on in the process of the gateway, which
# leaves it at work; no session ends.
upgrade() {
  if denied; then
    say "the version before goes on: $policy denies it to be restarted. To change to the new one: realmgate handover"
    return
  fi
  if why=$(realmgate handover 2>&1); then return; fi
  say "$why"
  case $why in
    *"this one goes on"*)
      say "so the version before goes on ($(systemctl show --property=StatusText --value $unit))."
      if realmgate check -c $configuration >/dev/null 2>&1; then
        say "To change to the new one, and end these sessions: systemctl restart $unit"
      else
        say "To change to the new one: correct $configuration, then: realmgate handover"
      fi
      ;;
    *) say "the new version does not start: see journalctl -u $unit" ;;
  esac
}

# begin: a gateway starts only with a configuration that is right.
begin() {
  if [ ! -e $configuration ]; then
    say "write $configuration (an example is in /usr/share/doc/realmgate/examples), then: systemctl start $unit"
  elif why=$(realmgate check -c $configuration 2>&1); then
    if "$@"; then return; fi
    # What root may read, the gateway's user may not always.
    why=$(runuser -u realmgate -- realmgate check -c $configuration 2>&1) || say "$why"
    say "it does not start: see journalctl -u $unit"
  else
    say "$why"
    say "correct $configuration, then: systemctl start $unit"
  fi
}

systemd-sysusers realmgate.conf
booted=
if [ -d /run/systemd/system ] && ! systemd-detect-virt --quiet --chroot; then
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
