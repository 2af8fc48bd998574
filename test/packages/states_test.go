package packages

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/test/lab"
)

const policy = "/usr/sbin/policy-rc.d"

// What dpkg does to a package besides installing and removing it: each of these finds a machine in another state, and none ends what
// runs, loses what is kept, or stops dpkg.
func TestPackageStates(t *testing.T) {
	lab.LengthyOnly(t)
	t.Parallel()
	r := lab.NewRealm(t, netns.Options{Prefix: "states", Hosts: 1, Clients: 1})
	s := story{newMachine(t, r.Gateway, bookworm.archive(t)), r.Gateway, r.Clients[0]}
	serve(t, r.Hosts()[0])
	first, later := built(t, "*_amd64.deb"), next(t)
	for to, from := range map[string]string{"/first.deb": first, "/srv/realmgate_1.0.0-1_amd64.deb": first, "/next.deb": later, "/srv/realmgate_1.0.0.1-1_amd64.deb": later} {
		s.deb(from, to)
	}
	s.failed()
	s.denied()
	s.upgraded()
	s.reinstalled()
	s.misconfigured()
	s.damaged()
	s.unreadable()
	s.removedWithoutItsConfiguration()
}

// says runs a command that has to end well and to say these, and returns what it says.
func (s *story) says(command string, wants ...string) string {
	s.t.Helper()
	out := s.must("sh", "-c", command)
	for _, want := range wants {
		if !strings.Contains(out, want) {
			s.t.Errorf("%s does not say %q:\n%s", command, want, out)
		}
	}
	return out
}

// version is that of the gateway, not of the files.
func (s *story) isVersion(want string) {
	s.t.Helper()
	if status := s.must("realmgate", "status", "-o", "json"); !strings.Contains(status, `"`+want+`"`) {
		s.t.Errorf("the gateway is not of version %s: %.300s", want, status)
	}
}

// goesOn has a package come while the gateway runs: its process and connections go on.
func (s *story) goesOn(what string, do func()) {
	s.t.Helper()
	c, pid := s.open(), s.show("MainPID")
	do()
	if now := s.show("MainPID"); now != pid {
		s.t.Errorf("%s: process %s follows %s", what, now, pid)
	}
	c.goesOn(s.t, what)
	s.serves(what)
}

// An installation that fails half-way can be purged, and made again.
func (s *story) failed() {
	s.t.Helper()
	before := s.snapshot()
	s.must("chmod", "a-x", "/usr/bin/systemd-sysusers")
	if out, err := s.run("dpkg", "-i", "/first.deb"); err == nil {
		s.t.Errorf("without its user it is installed: %s", out)
	}
	s.must("dpkg", "--purge", "realmgate")
	s.must("chmod", "a+x", "/usr/bin/systemd-sysusers")
	before.compare(s.t, s.snapshot())
}

// Who forbids packages to start and stop services is obeyed, at an upgrade and a removal, too.
func (s *story) denied() {
	s.t.Helper()
	s.put([]byte(configuration(s.network)), configurationFile)
	s.deny()
	s.must("dpkg", "-i", "/first.deb")
	if state := s.show("ActiveState"); state != "inactive" {
		s.t.Errorf("though the policy denies it, it is %s", state)
	}
	s.must("systemctl", "start", "realmgate")
	s.goesOn("an upgrade that the policy denies", func() {
		s.says("dpkg -i /next.deb", policy+" denies", "realmgate handover")
		s.isVersion(version)
	})
	s.must("rm", policy)
	s.goesOn("the handover after it", func() { s.must("realmgate", "handover") })
	s.isVersion(version + ".1")
	s.must("dpkg", "-i", "/first.deb")
	s.goesOn("a removal that the policy denies to stop it", func() {
		s.deny()
		s.says("dpkg --remove realmgate", "the gateway goes on: "+policy+" denies it")
		s.must("rm", policy)
	})
	s.goesOn("an installation after it", func() { s.must("dpkg", "-i", "/first.deb") })
}

// deny has the policy forbid packages to start, restart and stop services.
func (s *story) deny() {
	s.t.Helper()
	s.put([]byte("#!/bin/sh\nexit 101\n"), policy)
	s.must("chmod", "755", policy)
}

func (s *story) reinstalled() {
	s.t.Helper()
	s.goesOn("a reinstallation", func() { s.must("apt-get", "install", "-y", "--reinstall", "/first.deb") })
	s.isVersion(version)
}

// An upgrade leaves the administrator's file alone, also one that is wrong: then the gateway goes on as it is.
func (s *story) misconfigured() {
	s.t.Helper()
	if files := s.must("dpkg-query", "--show", "--showformat=${Conffiles}", "realmgate"); files != "" {
		s.t.Errorf("dpkg would ask about %s", files)
	}
	const wrong = "interfaces: none # mine\n"
	s.put([]byte(wrong), configurationFile)
	s.goesOn("an upgrade beside a wrong configuration", func() {
		out := s.says("dpkg -i /next.deb", configurationFile+":1: interfaces", "this one goes on", "correct "+configurationFile+", then: realmgate handover")
		if strings.Contains(out, "systemctl restart") {
			s.t.Errorf("it advises what would stop the gateway:\n%s", out)
		}
	})
	if now, err := os.ReadFile(s.root + configurationFile); err != nil || string(now) != wrong {
		s.t.Errorf("the configuration is %q, %v", now, err)
	}
	s.put([]byte(configuration(s.network)), configurationFile)
}

// The guide's page of upgrades, up and down again: the earlier version takes over, too, with what the later one has kept.
func (s *story) upgraded() {
	s.t.Helper()
	guide := pageOf(s.t, "upgrade.md")
	s.goesOn("an upgrade", func() { s.does(guide.next("apt install")) })
	s.isVersion(version + ".1")
	if out := s.does(guide.next("realmgate status")); !strings.Contains(out, "version "+version+".1") {
		s.t.Errorf("status: %s", out)
	}
	s.must("realmgate", "ban", "add", "203.0.113.9")
	s.goesOn("a downgrade", func() { s.does(guide.next("--allow-downgrades")) })
	s.isVersion(version)
	s.says("realmgate ban list", "203.0.113.9")
	guide.end()
}

// A state that cannot be read keeps the gateway from starting, and nobody from installing.
func (s *story) damaged() {
	s.t.Helper()
	s.must("systemctl", "stop", "realmgate")
	s.must("sh", "-c", "cp /var/lib/realmgate/default.db /good.db; head -c 65536 /dev/zero >/var/lib/realmgate/default.db")
	s.says("dpkg -i /next.deb", "journalctl -u realmgate")
	s.says("journalctl -u realmgate --no-pager", "move /var/lib/realmgate/default.db away")
	s.must("sh", "-c", "cat /good.db >/var/lib/realmgate/default.db; rm /good.db")
	s.must("dpkg", "-i", "/next.deb")
	eventually(s.t, time.Minute, "it runs again", func() bool { return s.show("ActiveState") == "active" })
	s.serves("with its state again")
	s.says("realmgate ban list", "203.0.113.9")
}

// Why the service fails is told, also where root finds nothing wrong with the configuration: only root may read it.
func (s *story) unreadable() {
	s.t.Helper()
	s.must("systemctl", "stop", "realmgate")
	s.must("chmod", "600", configurationFile)
	s.says("dpkg -i /next.deb", "permission denied", "journalctl -u realmgate")
	s.must("chmod", "644", configurationFile)
	s.must("dpkg", "-i", "/next.deb")
	s.serves("with a file that it may read")
}

// It cannot start to take its data plane down: that goes by a purge.
func (s *story) removedWithoutItsConfiguration() {
	s.t.Helper()
	s.must("systemctl", "kill", "--signal=KILL", "realmgate")
	s.must("systemctl", "stop", "realmgate")
	s.must("rm", configurationFile)
	s.says("apt-get remove -y realmgate", "a data plane is left at work")
	s.must("dpkg", "-i", "/first.deb") // which finds what a removal leaves
	if state, _ := s.run("systemctl", "is-enabled", "realmgate"); state != "enabled" {
		s.t.Errorf("installed again, it is %s", state)
	}
	s.must("apt-get", "purge", "-y", "realmgate")
	if names, err := s.network.Attached(); err != nil || len(names) > 0 {
		s.t.Errorf("purged, programs are left at %v: %v", names, err)
	}
}
