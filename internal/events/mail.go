package events

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	gomail "github.com/wneessen/go-mail"

	"github.com/realmgate/realmgate/internal/events/settings"
)

const (
	mailTime = 30 * time.Second // for a mail, from the name's look-up to the server's last word
	// mailPause is between two mails. What happens meanwhile is in the next one.
	mailPause = time.Minute
	mailText  = 64 << 10 // octets of a mail's text
)

var errSlowMail = fmt.Errorf("the mail server took longer than %v", mailTime)

// mail sends lines as one mail in plain text (RFC 5321, 5322).
type mail struct {
	settings.Mail
	limit time.Duration
	trust *tls.Config // nil: what the system trusts
}

func newMail(m settings.Mail) *mail { return &mail{Mail: m, limit: mailTime} }

// deliver implements outlet.
func (m *mail) deliver(ctx context.Context, lines [][]byte, _ func(error)) (int, error) {
	if len(lines) == 0 {
		return 0, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, m.limit, errSlowMail)
	defer cancel()
	message, err := m.message(digestOf(lines))
	if err != nil {
		return 0, err
	}
	client, err := m.client()
	if err != nil {
		return 0, fmt.Errorf("prepare a mail to %s: %w", m.Server, err)
	}
	if err := client.DialAndSendWithContext(ctx, message); err != nil && !message.IsDelivered() {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return 0, fmt.Errorf("send a mail by %s: %w", m.Server, err)
	}
	return len(lines), nil // a server that has it may say goodbye as it likes
}

func (m *mail) message(d digest) (*gomail.Msg, error) {
	message := gomail.NewMsg()
	if err := errors.Join(message.From(m.From), message.To(m.To...)); err != nil {
		return nil, fmt.Errorf("address a mail: %w", err)
	}
	message.Subject(printable(d.subject))
	message.SetDate()
	message.SetMessageID()
	message.SetGenHeader("Auto-Submitted", "auto-generated") // RFC 3834: no absence is answered
	message.SetBodyString(gomail.TypeTextPlain, d.text(mailText))
	return message, nil
}

func (m *mail) client() (*gomail.Client, error) {
	host, port, err := net.SplitHostPort(m.Server)
	if err != nil {
		return nil, err
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return nil, err
	}
	options := []gomail.Option{gomail.WithPort(number), gomail.WithTimeout(m.limit)}
	switch m.TLS {
	case settings.TLSAtOnce:
		options = append(options, gomail.WithSSL())
	case settings.TLSNone:
		options = append(options, gomail.WithTLSPolicy(gomail.NoTLS))
	default:
		options = append(options, gomail.WithTLSPolicy(gomail.TLSMandatory))
	}
	if m.trust != nil {
		options = append(options, gomail.WithTLSConfig(m.trust))
	}
	if m.User != "" {
		options = append(options, gomail.WithSMTPAuth(gomail.SMTPAuthAutoDiscover), gomail.WithUsername(m.User), gomail.WithPassword(m.Password))
	}
	return gomail.NewClient(host, options...)
}

// ended implements outlet.
func (m *mail) ended() <-chan struct{} { return nil }

// close implements outlet.
func (m *mail) close(context.Context) error { return nil }
