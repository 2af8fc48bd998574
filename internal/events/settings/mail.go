package settings

import (
	"errors"
	"fmt"
	"net"
	"net/mail"
	"strconv"
	"strings"

	"github.com/realmgate/realmgate/internal/schema"
)

// How a connection to a mail server is kept secret.
const (
	TLSUpgrade = "starttls" // RFC 3207: without it nothing is sent
	TLSAtOnce  = "tls"      // RFC 8314 section 3.3
	TLSNone    = "none"
)

// mostRecipients is to how many a mail goes.
const mostRecipients = 16

// Mail is a server that takes mails with events.
type Mail struct {
	Server         string   // host:port
	TLS            string   // one of the above
	From           string   // address alone
	To             []string // so, too; at least one
	User, Password string   // empty: nobody logs in
	PasswordFile   string   // that the password is from
}

type mailDraft struct {
	mail                     Mail
	to                       []schema.At[string]
	line, userLine, fileLine int
}

func (d *mailDraft) key() schema.Key {
	d.mail.TLS = TLSUpgrade
	return schema.Noting(&d.line, schema.Section("mail",
		schema.One("server", &d.mail.Server, hostPort()).Must(),
		schema.One("tls", &d.mail.TLS, schema.OneOf(TLSUpgrade, TLSAtOnce, TLSNone)),
		schema.One("from", &d.mail.From, mailAddress()).Must(),
		schema.Many("to", &d.to, mailAddress(), 1).Most(mostRecipients).Must(),
		schema.OneAt("user", &d.mail.User, &d.userLine, schema.Text("text", "", "a user's name")).Otherwise("none"),
		schema.OneAt("password_file", &d.mail.PasswordFile, &d.fileLine, schema.FileName()).Otherwise("none"),
	))
}

// finish is nil where the file has no mail.
func (d *mailDraft) finish(faults *schema.Faults, path string) *Mail {
	if d.line == 0 {
		return nil
	}
	d.mail.To = schema.Values(d.to)
	switch {
	case (d.userLine > 0) != (d.fileLine > 0):
		faults.Add(d.line, "%s: give user and password_file, or neither", path)
	case d.fileLine > 0 && d.mail.TLS == TLSNone:
		faults.Add(d.fileLine, "%s.password_file: it would be sent for all to read: give tls, or leave it out", path)
	case d.fileLine > 0:
		d.mail.Password = readSecret(faults, d.mail.PasswordFile, path+".password_file", d.fileLine)
	}
	return &d.mail
}

// longestSecret is in octets.
const longestSecret = 4096

// readSecret reads a file's one line.
func readSecret(faults *schema.Faults, file, path string, line int) string {
	text, err := schema.ReadBeside(faults.File, file, "secret", longestSecret)
	text = strings.TrimSpace(text)
	if err == nil && (text == "" || strings.ContainsAny(text, "\r\n\x00")) {
		err = errors.New("it has not one line with the secret")
	}
	if err != nil {
		faults.Add(line, "%s: %v", path, err)
		return ""
	}
	return text
}

func hostPort() schema.Kind[string] {
	return schema.Kind[string]{
		Name: "text", Allowed: "host:port", Want: "a server and its port, as mail.example.net:587", Tags: schema.TextTag,
		Show: func(s string) string { return s },
		Parse: func(text string) (string, error) {
			host, port, err := net.SplitHostPort(text)
			if err != nil || host == "" || len(text) > 256 || strings.ContainsAny(host, " \t\r\n/@\x00") {
				return "", schema.ErrNoHint
			}
			if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
				return "", fmt.Errorf("port %s is not one of 1 to 65535", port)
			}
			return text, nil
		},
	}
}

// mailAddress is an addr-spec (RFC 5322 section 3.4.1), without a name.
func mailAddress() schema.Kind[string] {
	return schema.Kind[string]{
		Name: "text", Allowed: "user@host", Want: "a mail address, as root@example.net", Tags: schema.TextTag,
		Show: func(s string) string { return s },
		Parse: func(text string) (string, error) {
			a, err := mail.ParseAddress(text)
			if err != nil || a.Address != text || len(text) > 254 {
				return "", schema.ErrNoHint
			}
			return text, nil
		},
	}
}
