package jail

import (
	"fmt"
	"net/netip"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// sample is a line as programs write it. want is empty where it is no offence.
type sample struct{ pattern, want, line string }

// The victim, 203.0.113.1, is only in text that the attacker, 198.51.100.7, sends.
var samples = []sample{
	// OpenSSH 8 and 9, in the forms of rsyslog before and since Debian 12, and journalctl's.
	{"sshd", "198.51.100.7", "Jan  2 15:04:05 gw sshd[4711]: Failed password for root from 198.51.100.7 port 40022 ssh2"},
	{"sshd", "198.51.100.7", "2026-01-02T15:04:05.123456+01:00 gw sshd[4711]: Failed password for invalid user admin from 198.51.100.7 port 40022 ssh2"},
	{"sshd", "198.51.100.7", "2026-01-02T15:04:05+0100 gw sshd[4711]: Failed password for root from 198.51.100.7 port 40022 ssh2"},
	{"sshd", "198.51.100.7", "2026-01-02T15:04:05Z gw sshd[4711]: Failed password for root from 198.51.100.7 port 40022 ssh2"},
	{"sshd", "198.51.100.7", "Jan 02 15:04:05.123456 gw sshd[4711]: Failed password for root from 198.51.100.7 port 40022 ssh2"},
	{"sshd", "198.51.100.7", "Fri 2026-01-02 15:04:05 CET gw sshd[4711]: Failed password for root from 198.51.100.7 port 40022 ssh2"},
	{"sshd", "2001:db8::7", "Jan 02 15:04:05 gw sshd[4711]: Failed password for root from 2001:db8::7 port 40022 ssh2"},
	{"sshd", "198.51.100.7", "Jan 02 15:04:05 gw sshd[4711]: Failed password for root from ::ffff:198.51.100.7 port 40022 ssh2"},
	{"sshd", "198.51.100.7", "Jan  2 15:04:05 gw sshd[4711]: Failed keyboard-interactive/pam for invalid user bob from 198.51.100.7 port 40022 ssh2"},
	{"sshd", "198.51.100.7", "Jan  2 15:04:05 gw sshd[4711]: message repeated 2 times: [ Failed password for root from 198.51.100.7 port 40022 ssh2]"},
	{"sshd", "198.51.100.7", "Jan  2 15:04:05 gw sshd[4711]: Invalid user admin from 198.51.100.7 port 40022"},
	{"sshd", "198.51.100.7", "Jan  2 15:04:05 gw sshd[4711]: Invalid user  from 198.51.100.7 port 40022"},
	{"sshd", "198.51.100.7", "Jan  2 15:04:05 gw sshd[4711]: error: maximum authentication attempts exceeded for root from 198.51.100.7 port 40022 ssh2 [preauth]"},
	// OpenSSH since 9.8.
	{"sshd", "198.51.100.7", "Jan 02 15:04:05 gw sshd-session[4711]: Failed password for root from 198.51.100.7 port 40022 ssh2"},
	// What honest people cause, and the second line about an attempt that was counted.
	{"sshd", "", "Jan  2 15:04:05 gw sshd[4711]: Accepted password for root from 198.51.100.7 port 40022 ssh2"},
	{"sshd", "", "Jan  2 15:04:05 gw sshd[4711]: Failed none for root from 198.51.100.7 port 40022 ssh2"},
	{"sshd", "", "Jan  2 15:04:05 gw sshd[4711]: Failed publickey for root from 198.51.100.7 port 40022 ssh2: RSA SHA256:abc"},
	{"sshd", "", "Jan  2 15:04:05 gw sshd[4711]: Connection closed by authenticating user root 198.51.100.7 port 40022 [preauth]"},
	{"sshd", "", "Jan  2 15:04:05 gw sshd[4711]: Connection reset by authenticating user root 198.51.100.7 port 40022 [preauth]"},
	{"sshd", "", "Jan  2 15:04:05 gw sshd[4711]: Disconnected from authenticating user root 198.51.100.7 port 40022 [preauth]"},
	{"sshd", "", "Jan 02 15:04:05 gw sshd-session[4711]: Connection closed by authenticating user root 198.51.100.7 port 40022 [preauth]"},
	{"sshd", "", "Jan  2 15:04:05 gw sshd[4711]: Connection closed by invalid user admin 198.51.100.7 port 40022 [preauth]"},
	{"sshd", "", "Jan  2 15:04:05 gw sshd[4711]: Disconnected from user root 198.51.100.7 port 40022"},
	{"sshd", "", "Jan  2 15:04:05 gw sshd[4711]: Failed password for root from UNKNOWN port 65535 ssh2"},
	// Forged: user names, what a client says when it leaves, lines of other programs.
	{"sshd", "198.51.100.7", "Jan  2 15:04:05 gw sshd[4711]: Failed password for invalid user x from 203.0.113.1 port 22 ssh2 from 198.51.100.7 port 40022 ssh2"},
	{"sshd", "198.51.100.7", "Jan  2 15:04:05 gw sshd[4711]: Failed password for invalid user a from 203.0.113.1 port 22 from 198.51.100.7 port 40022 ssh2"},
	{"sshd", "198.51.100.7", "Jan  2 15:04:05 gw sshd[4711]: Invalid user x from 203.0.113.1 port 22 from 198.51.100.7 port 40022"},
	{"sshd", "", "Jan  2 15:04:05 gw sshd[4711]: Invalid user x from 203.0.113.1 port 22 from UNKNOWN port 65535"},
	{"sshd", "", "Jan  2 15:04:05 gw sshd[4711]: Received disconnect from 198.51.100.7 port 40022:11: Failed password for root from 203.0.113.1 port 22 ssh2"},
	{"sshd", "", "Jan  2 15:04:05 gw sshd[4711]: Received disconnect from 198.51.100.7 port 40022:11: Jan  2 15:04:05 gw sshd[4711]: Invalid user x from 203.0.113.1 port 22"},
	{"sshd", "", "Jan  2 15:04:05 gw sshd[4711]: banner exchange: Connection from 198.51.100.7 port 40022: invalid format: Invalid user x from 203.0.113.1 port 22"},
	{"sshd", "", "Jan  2 15:04:05 gw httpd[4711]: sshd[4711]: Invalid user x from 203.0.113.1 port 22"},
	{"sshd", "", "Jan  2 15:04:05 gw sshd[4711]: Failed hostbased for root from 198.51.100.7 port 40022 ssh2: RSA SHA256:abc, client user \"x from 203.0.113.1 port 22 ssh2\""},

	{"nginx-access", "198.51.100.7", `198.51.100.7 - - [02/Jan/2026:15:04:05 +0100] "GET /wp-login.php HTTP/1.1" 404 153 "-" "curl/8.5.0"`},
	{"nginx-access", "2001:db8::7", `2001:db8::7 - admin [02/Jan/2026:15:04:05 +0100] "GET /private/ HTTP/2.0" 401 179 "-" "Mozilla/5.0"`},
	{"nginx-access", "198.51.100.7", `198.51.100.7 - - [02/Jan/2026:15:04:05 +0100] "GET /.git/config HTTP/1.1" 403 153 "-" "-"`},
	{"nginx-access", "198.51.100.7", `198.51.100.7 - 203.0.113.1 - - [02/Jan/2026 [02/Jan/2026:15:04:05 +0100] "GET / HTTP/1.1" 401 179 "-" "-"`},
	{"nginx-access", "", `198.51.100.7 - - [02/Jan/2026:15:04:05 +0100] "GET / HTTP/1.1" 200 612 "-" "Mozilla/5.0"`},
	{"nginx-access", "", `198.51.100.7 - - [02/Jan/2026:15:04:05 +0100] "GET /\x22 404 HTTP/1.1" 200 612 "-" "-"`},
	{"nginx-access", "", `198.51.100.7 - - [02/Jan/2026:15:04:05 +0100] "GET / HTTP/1.1" 200 404 "-" "203.0.113.1 - - [] \x22GET\x22 404 "`},
	{"nginx-access", "", `198.51.100.7 - - [02/Jan/2026:15:04:05 +0100] "\x16\x03\x01" 400 157 "-" "-"`},
	{"nginx-access", "", `unix: - - [02/Jan/2026:15:04:05 +0100] "GET /203.0.113.1 HTTP/1.1" 404 153 "-" "-"`},

	// Dovecot 2.2 to 2.4, with what OpenSSL says of the end, and with elements that the log may have.
	{"dovecot", "198.51.100.7", "Jan  2 15:04:05 mx dovecot: imap-login: Disconnected (auth failed, 1 attempts in 8 secs): user=<bob>, method=PLAIN, rip=198.51.100.7, lip=192.0.2.25, TLS, session=<8oNSumM3A8mK/86a>"},
	{"dovecot", "198.51.100.7", "Jan  2 15:04:05 mx dovecot[442]: pop3-login: Aborted login (auth failed, 3 attempts in 17 secs): user=<bob@example.org>, method=PLAIN, rip=198.51.100.7, lip=192.0.2.25, session=<YADINsQCDs5BH8Pg>"},
	{"dovecot", "198.51.100.7", "2026-01-02T15:04:05.123456+01:00 mx dovecot: imap-login: Login aborted: Connection closed (auth failed, 2 attempts in 14 secs) (auth_failed): user=<bob>, method=PLAIN, rip=198.51.100.7, lip=192.0.2.25, TLS, session=<8oNSumM3A8mK/86a>"},
	{"dovecot", "198.51.100.7", "Jan 02 15:04:05 imap-login: Info: Login aborted: Connection closed (auth failed, 3 attempts in 15 secs) (auth_failed): user=<bob>, method=PLAIN, rip=198.51.100.7, lip=192.0.2.25, TLS, session=<25Nw4GQ3Ms9QM7WQ>"},
	{"dovecot", "198.51.100.7", "2026-01-02 15:04:05 pop3-login: Info: Disconnected: Connection closed: read(size=988) failed: Connection reset by peer (auth failed, 1 attempts in 2 secs): user=<bob>, method=PLAIN, rip=198.51.100.7, lip=192.0.2.25, session=<ZfpthtYmgKpXeHG9>"},
	{"dovecot", "198.51.100.7", "Jan  2 15:04:05 mx dovecot: imap-login: Disconnected: Inactivity (auth failed, 1 attempts): user=<info>, method=PLAIN, rip=198.51.100.7, lip=192.0.2.25"},
	{"dovecot", "198.51.100.7", "Jan  2 15:04:05 mx dovecot: imap-login: Disconnected (auth failed, 1 attempts): method=PLAIN, rip=198.51.100.7, lip=192.0.2.25, TLS: Disconnected"},
	{"dovecot", "198.51.100.7", "Jan  2 15:04:05 mx dovecot: imap-login: Disconnected (auth failed, 1 attempts in 8 secs): user=<bob>, method=PLAIN, rip=198.51.100.7, lip=192.0.2.25, TLS, TLSv1.2 with cipher ECDHE-RSA-AES256-GCM-SHA384 (256/256 bits)"},
	{"dovecot", "2001:db8::7", "Jan  2 15:04:05 mx dovecot: submission-login: Client has quit the connection (auth failed, 1 attempts in 2 secs): user=<bob>, method=LOGIN, rip=2001:db8::7, lip=2001:db8::25, mpid=4711, TLS, session=<jkl012==>"},
	{"dovecot", "198.51.100.7", "Jan  2 15:04:05 mx dovecot: managesieve-login: Remote closed connection (auth failed, 1 attempts in 2 secs): user=<bob>, method=PLAIN, rip=198.51.100.7, lip=192.0.2.25"},
	// As 2.3.19 wrote them into a file of its own, but for the addresses; the second is a user who tried to forge.
	{"dovecot", "198.51.100.7", "2026-11-30 15:49:57 imap-login: Info: Disconnected: Connection closed (auth failed, 2 attempts in 8 secs): user=<bob>, method=PLAIN, rip=198.51.100.7, lip=192.0.2.25, secured, session=<l1ogXIBhOIZ/AAAB>"},
	{"dovecot", "198.51.100.7", "2026-11-30 15:50:07 imap-login: Info: Disconnected: Aborted login by logging out (auth failed, 1 attempts in 10 secs): user=<x>, method=PLAIN, rip=203.0.113.1, lip=127.0.0.1, session=<x>>, method=PLAIN, rip=198.51.100.7, lip=192.0.2.25, secured, session=<K12TXIBhRIZ/AAAB>"},
	{"dovecot", "", "2026-11-30 15:50:22 imap-login: Info: Login: user=<bob>, method=PLAIN, rip=198.51.100.7, lip=192.0.2.25, mpid=25861, secured, session=<MkksXYBh3Kt/AAAB>"},
	{"dovecot", "", "2026-11-30 15:50:22 imap(bob)<25861><MkksXYBh3Kt/AAAB>: Info: Disconnected: Logged out in=8 out=468 deleted=0 expunged=0"},
	{"dovecot", "", "2026-11-30 15:50:22 imap-login: Info: Disconnected: Connection closed (no auth attempts in 0 secs): user=<>, rip=198.51.100.7, lip=192.0.2.25, secured, session=<3XMSXoBhJId/AAAB>"},
	{"dovecot", "", "Jan  2 15:04:05 mx dovecot: imap-login: Login: user=<bob>, method=PLAIN, rip=198.51.100.7, lip=192.0.2.25, mpid=4711, TLS, session=<8oNSumM3A8mK/86a>"},
	{"dovecot", "", "Jan  2 15:04:05 mx dovecot: imap-login: Disconnected (no auth attempts in 0 secs): user=<>, rip=198.51.100.7, lip=192.0.2.25, TLS handshaking, session=<8oNSumM3A8mK/86a>"},
	{"dovecot", "", "Jan  2 15:04:05 mx dovecot: imap-login: Aborted login (tried to use disallowed plaintext auth): user=<>, rip=198.51.100.7, lip=192.0.2.25"},
	{"dovecot", "", "Jan  2 15:04:05 mx dovecot: imap-login: Disconnected (client didn't finish SASL auth, waited 2 secs): user=<>, method=PLAIN, rip=198.51.100.7, lip=192.0.2.25"},
	{"dovecot", "", "Jan  2 15:04:05 mx dovecot: imap(bob)<4711><8oNSumM3A8mK/86a>: Disconnected: Logged out in=146 out=2974"},
	{"dovecot", "", "Jan  2 15:04:05 mx dovecot: auth-worker(4711): pam(bob,198.51.100.7,<8oNSumM3A8mK/86a>): pam_authenticate() failed: Authentication failure (Password mismatch?)"},
	{"dovecot", "198.51.100.7", "Jan  2 15:04:05 mx dovecot: imap-login: Disconnected (auth failed, 1 attempts in 2 secs): user=<x>, method=PLAIN, rip=203.0.113.1, lip=192.0.2.25, session=<x>>, method=PLAIN, rip=198.51.100.7, lip=192.0.2.25, TLS, session=<8oNSumM3A8mK/86a>"},
	{"dovecot", "", "Jan  2 15:04:05 mx dovecot: imap-login: Login: user=<Disconnected (auth failed, 1 attempts in 2 secs): user=<x>, rip=203.0.113.1, lip=192.0.2.25>, method=PLAIN, rip=198.51.100.7, lip=192.0.2.25"},
	{"dovecot", "", "Jan  2 15:04:05 mx dovecot: imap-login: Disconnected (auth failed, 1 attempts in 2 secs): user=<" + strings.Repeat("x", 8000) + ", rip=203.0.113.1, lip=192.0.2.25"},

	// "WP fail2ban", free and premium, and what other plugins took over from it.
	{"wordpress", "198.51.100.7", "Jan  2 15:04:05 web wordpress(www.example.org)[4711]: Authentication failure for admin from 198.51.100.7"},
	{"wordpress", "198.51.100.7", "2026-01-02T15:04:05.123456+01:00 web wordpress(www.example.org)[4711]: Authentication attempt for unknown user bob from 198.51.100.7"},
	{"wordpress", "2001:db8::7", "Jan  2 15:04:05 web wp(www.example.org)[4711]: XML-RPC authentication failure for admin from 2001:db8::7"},
	{"wordpress", "198.51.100.7", "Jan  2 15:04:05 web wordpress(www.example.org)[4711]: REST authentication failure for admin from 198.51.100.7"},
	{"wordpress", "198.51.100.7", "Jan  2 15:04:05 web wordpress(www.example.org)[4711]: XML-RPC multicall authentication failure from 198.51.100.7"},
	{"wordpress", "198.51.100.7", "Jan  2 15:04:05 web wordpress(www.example.org)[4711]: Blocked authentication attempt for admin from 198.51.100.7"},
	{"wordpress", "198.51.100.7", "Jan  2 15:04:05 web wordpress(www.example.org)[4711]: Blocked user enumeration attempt from 198.51.100.7"},
	{"wordpress", "198.51.100.7", "Jan  2 15:04:05 web wordpress(www.example.org)[4711]: Empty username from 198.51.100.7"},
	{"wordpress", "", "Jan  2 15:04:05 web wordpress(www.example.org)[4711]: Accepted password for admin from 198.51.100.7"},
	{"wordpress", "", "Jan  2 15:04:05 web wordpress(www.example.org)[4711]: Pingback requested from 198.51.100.7"},
	{"wordpress", "", "Jan  2 15:04:05 web wordpress(www.example.org)[4711]: Authentication failure for admin from 198.51.100.7 port 443"},
	{"wordpress", "198.51.100.7", "Jan  2 15:04:05 web wordpress(www.example.org)[4711]: Authentication attempt for unknown user x from 203.0.113.1 from 198.51.100.7"},
	// Names so long that what writes the log cuts the line off behind an address of the client's choice.
	{"wordpress", "", "Jan  2 15:04:05 web wordpress(www.example.org)[4711]: Authentication attempt for unknown user " + strings.Repeat("x", 8000) + " from 203.0.113.1"},
	{"wordpress", "", "Jan  2 15:04:05 web wordpress(www.example.org)[4711]: Blocked authentication attempt for " + strings.Repeat("x", 900) + " from 203.0.113.1"},
	{"wordpress", "", "Jan  2 15:04:05 web wordpress(" + strings.Repeat("x", 8000) + ")[4711]: Authentication attempt for unknown user x from 203.0.113.1"},
	{"wordpress", "", "Jan  2 15:04:05 web sshd[4711]: wordpress(www.example.org)[4711]: Authentication failure for admin from 203.0.113.1"},

	{"wordpress-access", "198.51.100.7", `198.51.100.7 - - [02/Jan/2026:15:04:05 +0100] "POST /wp-login.php HTTP/1.1" 200 4523 "https://www.example.org/wp-login.php" "Mozilla/5.0"`},
	{"wordpress-access", "2001:db8::7", `2001:db8::7 - - [02/Jan/2026:15:04:05 +0100] "POST /blog/wp-login.php?redirect_to=x HTTP/2.0" 200 4523 "-" "Mozilla/5.0"`},
	{"wordpress-access", "", `198.51.100.7 - - [02/Jan/2026:15:04:05 +0100] "POST /wp-login.php HTTP/1.1" 302 0 "-" "Mozilla/5.0"`},
	{"wordpress-access", "", `198.51.100.7 - - [02/Jan/2026:15:04:05 +0100] "GET /wp-login.php HTTP/1.1" 200 4523 "-" "Mozilla/5.0"`},
	{"wordpress-access", "", `198.51.100.7 - - [02/Jan/2026:15:04:05 +0100] "POST /x?/wp-login.php HTTP/1.1" 200 4523 "-" "Mozilla/5.0"`},
	{"wordpress-access", "", `198.51.100.7 - - [02/Jan/2026:15:04:05 +0100] "GET / HTTP/1.1" 200 612 "-" "POST /wp-login.php HTTP/1.1\x22 200 "`},
	{"wordpress-access", "", `unix: - 203.0.113.1 [02/Jan/2026:15:04:05 +0100] "POST /wp-login.php HTTP/1.1" 200 4523 "-" "-"`},

	{"postfix", "198.51.100.7", "Jan  2 15:04:05 mx postfix/smtpd[4711]: warning: unknown[198.51.100.7]: SASL LOGIN authentication failed: UGFzc3dvcmQ6"},
	{"postfix", "198.51.100.7", "2026-01-02T15:04:05.123456+01:00 mx postfix/submission/smtpd[4711]: warning: host-7.example.net[198.51.100.7]: SASL PLAIN authentication failed: (reason unavailable), sasl_username=bob@example.com"},
	{"postfix", "2001:db8::7", "Jan  2 15:04:05 mx postfix/smtps/smtpd[4711]: warning: unknown[2001:db8::7]: SASL CRAM-MD5 authentication failed: authentication failure"},
	{"postfix", "198.51.100.7", "Jan  2 15:04:05 mx postfix/smtpd[4711]: NOQUEUE: reject: RCPT from unknown[198.51.100.7]: 554 5.7.1 <a@example.org>: Relay access denied; from=<b@example.net> to=<a@example.org> proto=ESMTP helo=<x>"},
	{"postfix", "198.51.100.7", "Jan  2 15:04:05 mx postfix/smtpd[4711]: 4F9D195432C: reject: RCPT from host.example.net[198.51.100.7]: 550 5.1.1 <no@example.com>: Recipient address rejected: User unknown in local recipient table; from=<> to=<no@example.com> proto=SMTP helo=<x>"},
	{"postfix", "198.51.100.7", "Jan  2 15:04:05 mx postfix/postscreen[4711]: NOQUEUE: reject: RCPT from [198.51.100.7]:40022: 550 5.7.1 Service unavailable; client [198.51.100.7] blocked using zen.example; from=<x>, to=<y>, proto=ESMTP, helo=<z>"},
	{"postfix", "198.51.100.7", "Jan  2 15:04:05 mx postfix/smtpd[4711]: NOQUEUE: reject: RCPT from unknown[198.51.100.7]: 554 5.7.1 <x from unknown[203.0.113.1]: 554 @example.org>: Relay access denied; from=<> to=<y> proto=ESMTP helo=<unknown[203.0.113.1]: SASL LOGIN authentication failed: >"},
	{"postfix", "198.51.100.7", "Jan  2 15:04:05 mx postfix/smtpd[4711]: warning: unknown[198.51.100.7]: SASL LOGIN authentication failed: x, sasl_username=unknown[203.0.113.1]: SASL LOGIN authentication failed: x"},
	{"postfix", "", "Jan  2 15:04:05 mx postfix/smtpd[4711]: NOQUEUE: reject: RCPT from unknown[198.51.100.7]: 450 4.2.0 <a@example.com>: Recipient address rejected: Greylisted; from=<> to=<a@example.com> proto=ESMTP helo=<203.0.113.1>"},
	{"postfix", "", "Jan  2 15:04:05 mx postfix/smtpd[4711]: NOQUEUE: reject: RCPT from unknown[unknown]: 554 5.7.1 <x[203.0.113.1]: 554 >: Relay access denied"},
	{"postfix", "", "Jan  2 15:04:05 mx postfix/smtpd[4711]: warning: hostname x.example.net does not resolve to address 198.51.100.7"},
	{"postfix", "", "Jan  2 15:04:05 mx postfix/cleanup[4711]: 4F9D195432C: warning: header Subject: warning: unknown[203.0.113.1]: SASL LOGIN authentication failed: x from unknown[198.51.100.7]; from=<b@example.net>"},
	{"postfix", "", "Jan  2 15:04:05 mx postfix/smtpd[4711]: disconnect from unknown[198.51.100.7] ehlo=1 auth=0/1 quit=1 commands=2/3"},
}

func TestReadyMadePatternsFindTheOffenderInSamples(t *testing.T) {
	t.Parallel()
	failures, jails := map[string]int{}, map[string]*Jail{}
	for _, name := range ReadyMade() {
		jails[name] = jail(t, name)
	}
	for _, s := range samples {
		got := ""
		if a, _ := jails[s.pattern].match([]byte(s.line)); a.IsValid() {
			got = a.String()
			failures[s.pattern]++
		}
		if got != s.want {
			t.Errorf("%s finds %q, want %q, in\n%s", s.pattern, got, s.want, s.line)
		}
		for _, other := range ReadyMade() {
			if a, _ := jails[other].match([]byte(s.line)); other != s.pattern && a.IsValid() {
				t.Errorf("%s finds %v in a line for %s", other, a, s.pattern)
			}
		}
	}
	for _, name := range ReadyMade() {
		if failures[name] == 0 {
			t.Errorf("%s has no sample", name)
		}
	}
}

// What OpenSSH 9.2 wrote of known attempts. The numbers are also those of failures that the
// filter sshd of fail2ban 1.0.2 finds with mode = normal, so that failures are what maxretry was.
func TestSSHDCountsAttemptsAsFail2banDoes(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/sshd.log")
	if err != nil {
		t.Fatal(err)
	}
	w := jail(t, "sshd")
	attempts := strings.Split(string(text), "# ")[1:]
	if len(attempts) != 8 {
		t.Errorf("%d attempts", len(attempts))
	}
	for _, attempt := range attempts {
		head, lines, _ := strings.Cut(attempt, "\n")
		want, what, _ := strings.Cut(head, ": ")
		failures := 0
		for line := range strings.Lines(lines) {
			if a, _ := w.match([]byte(strings.TrimSuffix(line, "\n"))); a.IsValid() {
				failures++
			}
		}
		if strconv.Itoa(failures) != want {
			t.Errorf("%s: %d failures, want %s", what, failures, want)
		}
	}
}

// logged are lines of programs with text of the attacker's choice, as they write it.
var logged = map[string]func(text string) []string{
	"sshd": func(user string) []string {
		name := fmt.Sprintf("%.100s", user)
		const head, from = "Jan  2 15:04:05 gw sshd-session[4711]: ", "198.51.100.7 port 40022"
		return []string{
			head + "Failed password for invalid user " + name + " from " + from + " ssh2",
			head + "Failed password for " + name + " from " + from + " ssh2",
			head + "Invalid user " + name + " from " + from,
			head + "error: maximum authentication attempts exceeded for invalid user " + name + " from " + from + " ssh2 [preauth]",
		}
	},
	"nginx-access": func(text string) []string {
		text = strings.ReplaceAll(text, `"`, `\x22`)
		const format = `198.51.100.7 - %s [02/Jan/2026:15:04:05 +0100] "%s" 401 179 "%s" "%s"`
		return []string{fmt.Sprintf(format, text, text, text, text)}
	},
	"dovecot": func(text string) []string {
		return []string{
			"Jan  2 15:04:05 mx dovecot: imap-login: Disconnected (auth failed, 1 attempts in 2 secs): user=<" + text + ">, method=PLAIN, rip=198.51.100.7, lip=192.0.2.25, TLS, session=<8oNSumM3A8mK/86a>",
			"Jan 02 15:04:05 imap-login: Info: Login aborted: Connection closed (auth failed, 3 attempts in 15 secs) (auth_failed): user=<" + text + ">, method=PLAIN, rip=198.51.100.7, lip=192.0.2.25",
		}
	},
	"wordpress": func(text string) []string {
		return []string{
			"Jan  2 15:04:05 web wordpress(www.example.org)[4711]: Authentication attempt for unknown user " + text + " from 198.51.100.7",
			"Jan  2 15:04:05 web wordpress(" + strings.ReplaceAll(text, " ", "") + ")[4711]: Authentication failure for " + text + " from 198.51.100.7",
		}
	},
	"wordpress-access": func(text string) []string {
		text = strings.ReplaceAll(text, `"`, `\x22`)
		const format = `198.51.100.7 - %s [02/Jan/2026:15:04:05 +0100] "POST /wp-login.php?%s HTTP/1.1" 200 4523 "%s" "%s"`
		return []string{fmt.Sprintf(format, text, strings.NewReplacer(" ", "+", "\t", "+").Replace(text), text, text)}
	},
	"postfix": func(text string) []string {
		const head = "Jan  2 15:04:05 mx postfix/smtpd[4711]: "
		return []string{
			head + "NOQUEUE: reject: RCPT from unknown[198.51.100.7]: 554 5.7.1 <" + text + ">: Relay access denied; from=<" + text + "> proto=ESMTP helo=<" + text + ">",
			head + "warning: unknown[198.51.100.7]: SASL LOGIN authentication failed: (reason unavailable), sasl_username=" + text,
		}
	},
}

// Whatever an attacker has a program write, the address is the attacker's: neither another
// is found nor none.
func TestNobodyCanForgeOrHideAnAddressFromReadyMadePatterns(t *testing.T) {
	t.Parallel()
	word := rapid.OneOf(rapid.SampledFrom([]string{
		"203.0.113.1", " from ", " port 22", " ssh2", " ssh2]", " [preauth]", "]: ", "[203.0.113.1]", "invalid user ", "authenticating user ",
		"Failed password for ", "Jan  2 15:04:05 gw sshd[1]: ", "unknown[203.0.113.1]: ", "SASL LOGIN authentication failed: ", " 554 5.7.1 ",
		"NOQUEUE: reject: RCPT from ", `" 404 `, "203.0.113.1 - - [x] ", `"`, "\\", " ", "\t", "message repeated 2 times: [ ", "::ffff:203.0.113.1",
	}), rapid.StringMatching(`[^\n]{0,4}`))
	for name, lines := range logged {
		w := jail(t, name)
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			text := strings.Join(rapid.SliceOfN(word, 0, 8).Draw(t, "text"), "")
			for _, line := range lines(text) {
				a, _ := w.match([]byte(line))
				if bounded := name == "wordpress" || name == "dovecot"; bounded && !a.IsValid() && utf8.RuneCountInString(text) > 100 {
					continue // nobody has so long a name
				}
				if a != netip.MustParseAddr("198.51.100.7") {
					t.Fatalf("%v in %q", a, line)
				}
			}
		}))
	}
}

func TestEachReadyMadePatternHasLinesToForge(t *testing.T) {
	t.Parallel()
	for _, name := range ReadyMade() {
		if logged[name] == nil {
			t.Errorf("nobody tries to forge lines for %s", name)
		}
		for _, e := range readyMade[name] {
			if !regexp.MustCompile(`^\^`).MatchString(e) {
				t.Errorf("%s: %s does not begin with the line", name, e)
			}
		}
	}
}
