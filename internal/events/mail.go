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
	client, err := m.client(ctx)
	if err != nil {
		return 0, fmt.Errorf("prepare a mail to %s: %w", m.Server, err)
	}
	d := digestOf(lines)
	err = m.send(ctx, client, d, m.To)
	if !errors.Is(err, &gomail.SendError{Reason: gomail.ErrSMTPRcptTo}) || len(m.To) == 1 {
		if err != nil && isRefused(err) {
			err = &refusedError{err}
		}
		if err != nil {
			return 0, err
		}
		return len(lines), nil
	}
	// One who is gone keeps it from all.
	var failed error
	sent := false
	for _, to := range m.To {
		err := m.send(ctx, client, d, []string{to})
		failed, sent = errors.Join(failed, err), sent || err == nil
	}
	if !sent {
		return 0, failed
	}
	return len(lines), failed
}

// refusedError is why lines will never be taken: they are lost.
type refusedError struct{ error }

func (e *refusedError) Unwrap() error { return e.error }

// isRefused reports whether the text of a mail is refused for good (RFC 5321 §4.2.1), whoever it is to.
func isRefused(err error) bool {
	var failed *gomail.SendError
	return errors.As(err, &failed) && failed.ErrorCode() >= 500 && (failed.Reason == gomail.ErrSMTPData || failed.Reason == gomail.ErrSMTPDataClose)
}

// send sends a mail to some.
func (m *mail) send(ctx context.Context, client *gomail.Client, d digest, to []string) error {
	message, err := m.message(d, to)
	if err != nil {
		return err
	}
	if err := client.DialAndSendWithContext(ctx, message); err != nil && !message.IsDelivered() { // who has it may say goodbye as it likes
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		} else if message.HasSendError() {
			err = message.SendError()
		}
		return fmt.Errorf("send a mail by %s: %w", m.Server, err)
	}
	return nil
}

func (m *mail) message(d digest, to []string) (*gomail.Msg, error) {
	message := gomail.NewMsg()
	if err := errors.Join(message.From(m.From), message.To(to...)); err != nil {
		return nil, fmt.Errorf("address a mail: %w", err)
	}
	message.Subject(printable(d.subject))
	message.SetDate()
	message.SetMessageID()
	message.SetGenHeader("Auto-Submitted", "auto-generated") // RFC 3834: no absence is answered
	message.SetBodyString(gomail.TypeTextPlain, d.text(mailText))
	return message, nil
}

// client connects until ctx ends: the library would wait for a server's word until the mail's time is over.
func (m *mail) client(ctx context.Context) (*gomail.Client, error) {
	host, port, err := net.SplitHostPort(m.Server)
	if err != nil {
		return nil, err
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return nil, err
	}
	secure := m.trust
	if secure == nil {
		secure = &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
	}
	dial := func(dialing context.Context, network, address string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(dialing, network, address)
		if err != nil {
			return nil, err
		}
		context.AfterFunc(ctx, func() { _ = c.Close() })
		if m.TLS == settings.TLSAtOnce {
			return tls.Client(c, secure), nil
		}
		return c, nil
	}
	options := []gomail.Option{gomail.WithPort(number), gomail.WithTimeout(m.limit), gomail.WithDialContextFunc(dial), gomail.WithTLSConfig(secure)}
	switch m.TLS {
	case settings.TLSAtOnce:
		options = append(options, gomail.WithSSL())
	case settings.TLSNone:
		options = append(options, gomail.WithTLSPolicy(gomail.NoTLS))
	default:
		options = append(options, gomail.WithTLSPolicy(gomail.TLSMandatory))
	}
	if m.User != "" {
		auth := gomail.WithSMTPAuth(gomail.SMTPAuthAutoDiscover)
		if m.TLS == settings.TLSAtOnce { // the library does not see that a connection of ours is encrypted
			auth = gomail.WithOpportunisticSMTPAuth(gomail.SMTPAuthSCRAMSHA256PLUS, gomail.SMTPAuthSCRAMSHA256, gomail.SMTPAuthSCRAMSHA1PLUS,
				gomail.SMTPAuthSCRAMSHA1, gomail.SMTPAuthNTLM, gomail.SMTPAuthCramMD5, gomail.SMTPAuthPlain, gomail.SMTPAuthLogin)
		}
		options = append(options, auth, gomail.WithUsername(m.User), gomail.WithPassword(m.Password))
	}
	return gomail.NewClient(host, options...)
}

// ended implements outlet.
func (m *mail) ended() <-chan struct{} { return nil }

// close implements outlet.
func (m *mail) close(context.Context) error { return nil }
