package jail

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// syslog is how a line begins that rsyslog or journalctl (--output=short, short-full,
// short-iso, short-precise) wrote: time, host, program. It is followed by the number of the
// process in square brackets.
const syslog = `^(?:[A-Z][a-z]{2} (?:[A-Z][a-z]{2} )?[ 0-9]\d \d\d:\d\d:\d\d(?:\.\d+)?|` +
	`(?:[A-Z][a-z]{2} )?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?: ?[A-Z+-][0-9A-Z:]*)?) [^ ]+ `

// Since OpenSSH 9.8 a program of its own serves a connection.
const sshd = syslog + `sshd(?:-session)?\[\d+\]: `

const smtpd = syslog + `postfix[^ \[/]*/(?:[a-z]+/)?(?:smtpd|postscreen)\[\d+\]: `

// What stands before an address is bounded where a stranger writes it in any length: rsyslog cuts a line at 8 KiB, others sooner,
// which may be right behind an address that it ends in. Longer are neither names of users nor of sites: WordPress keeps 100.
const (
	upTo100 = `{0,100}`
	upTo128 = `{0,128}`
)

// login is one of Dovecot's programs that strangers speak to, at the end of a connection, up to the address.
const login = `(?:imap|pop3|managesieve|submission)-login: (?:Info: )?` +
	`(?:Aborted login|Login aborted|Disconnected|Client has quit the connection|Remote closed connection)[^<>]*` +
	` \(auth failed, \d+ attempts(?: in \d+ secs)?\)(?: \([a-z_]+\))?:.` + upTo128 + ` rip=<ADDRESS>, lip=[0-9A-Fa-f:.]+(?:, mpid=\d+)?(?:, [^=<>]*)?(?:, session=<[^<>=, ]*={0,2}>)?$`

// wordpress is the plugin "WP fail2ban", or one that writes as it does. In brackets is the site that the client names.
const wordpress = syslog + `(?:wordpress|wp)\([^ ]` + upTo100 + `\)\[\d+\]: `

// readyMade are the patterns of which users give the name.
var readyMade = map[string][]string{
	// A user name is any text, blanks included, and stands before the address; after the
	// address nothing is a stranger's, so these go to the end of the line. The lines of
	// methods whose end tells what the client sent (hostbased, publickey) are not here. Nor is
	// it an offence that a connection ends before its user is authenticated: each guess at a
	// password has a line of its own before that, and who has no key that fits, or does not
	// know the password, is honest. rsyslog may put repeated lines into one.
	"sshd": {
		sshd + `(?:message repeated \d+ times: \[ )?Failed (?:password|keyboard-interactive(?:/[a-z]+)?) for .*` +
			` from <ADDRESS> port \d+ ssh2\]?$`,
		sshd + `Invalid user .* from <ADDRESS> port \d+$`,
		sshd + `error: maximum authentication attempts exceeded for .* from <ADDRESS> port \d+ ssh2 \[preauth\]$`,
	},
	// The format "combined", or any that begins as it does. nginx writes \x22 for a quote
	// that the client sent, so that the status is nginx's own.
	"nginx-access": {
		`^<ADDRESS> - [^"]* \[[^"]*\] "[^"]*" (?:401|403|404) `,
	},
	// A line for each connection in which a password was wrong, however many were. The user
	// stands before the address, and is any text; after the address is the state of TLS, and
	// the session's name.
	"dovecot": {
		syslog + `dovecot(?:\[\d+\])?: ` + login,
		`^(?:[A-Z][a-z]{2} [ 0-9]\d|\d{4}-\d\d-\d\d) \d\d:\d\d:\d\d ` + login, // a file of Dovecot's own (log_path)
	},
	// After the address nothing is written. Who names no site of the machine is counted, too.
	"wordpress": {
		wordpress + `(?:XML-RPC a|REST a|Blocked a|A)uthentication (?:failure|attempt) for (?:unknown user )?.` + upTo100 + ` from <ADDRESS>$`,
		wordpress + `(?:Blocked user enumeration attempt|Empty username|XML-RPC multicall authentication failure) from <ADDRESS>$`,
	},
	// The server's log, as for nginx-access, also Apache's: WordPress answers a wrong password
	// with its form again, and a right one by a redirection.
	"wordpress-access": {
		`^<ADDRESS> - [^"]* \[[^"]*\] "POST [^" ?]*/wp-login\.php(?:\?[^" ]*)? HTTP/[0-9.]+" 200 `,
	},
	// The client's name is what the DNS says, which has neither blanks nor brackets.
	// Refusals for the time being (4xx), as greylisting makes them, are no offence.
	"postfix": {
		smtpd + `warning: [^ \[\]]+\[<ADDRESS>\]: SASL [^ ]+ authentication failed: `,
		smtpd + `[0-9A-Za-z]+: reject: [A-Z-]+ from [^ \[\]]*\[<ADDRESS>\](?::\d+)?: 5\d\d `,
	},
}

// ReadyMade returns the names of the ready-made patterns.
func ReadyMade() []string { return slices.Sorted(maps.Keys(readyMade)) }

// expand returns the expressions that a pattern stands for.
func expand(pattern string) ([]string, error) {
	if expressions, known := readyMade[pattern]; known {
		return expressions, nil
	}
	if !strings.Contains(pattern, Placeholder) && !strings.HasPrefix(pattern, "^") {
		return nil, fmt.Errorf("pattern %q is none of the ready-made ones (%s), and no expression with %s",
			pattern, strings.Join(ReadyMade(), ", "), Placeholder)
	}
	return []string{pattern}, nil
}
