package events

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/events/settings"
)

// server is a mail server as RFC 5321 has it: STARTTLS (RFC 3207), AUTH PLAIN (RFC 4954), and a queue.
type server struct {
	net.Listener
	trust   *tls.Config // of clients
	own     *tls.Config
	plain   bool   // it offers no STARTTLS
	refuses string // what it answers to DATA's end
	gone    string // a recipient that it has no more
	got     chan letter
}

type letter struct {
	from string
	to   []string
	user string // who has logged in
	text string
	tls  bool
}

func newServer(t *testing.T, atOnce bool) *server {
	t.Helper()
	web := httptest.NewUnstartedServer(http.NotFoundHandler()) // for its certificate
	web.StartTLS()
	t.Cleanup(web.Close)
	trusted := x509.NewCertPool()
	trusted.AddCert(web.Certificate())
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{
		Listener: listener, got: make(chan letter, 10),
		trust: &tls.Config{RootCAs: trusted, ServerName: "example.com", MinVersion: tls.VersionTLS12},
		own:   &tls.Config{Certificates: web.TLS.Certificates, MinVersion: tls.VersionTLS12},
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				if atOnce {
					s.talk(tls.Server(c, s.own), true)
				} else {
					s.talk(c, false)
				}
			}()
		}
	}()
	return s
}

func (s *server) talk(c net.Conn, secret bool) {
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	in, l := textproto.NewReader(bufio.NewReader(c)), letter{tls: secret}
	say := func(lines ...string) { _, _ = io.WriteString(c, strings.Join(lines, "\r\n")+"\r\n") }
	say("220 mx.example.net ESMTP")
	for {
		line, err := in.ReadLine()
		if err != nil {
			return
		}
		verb, rest, _ := strings.Cut(line, " ")
		switch verb = strings.ToUpper(verb); {
		case verb == "EHLO" && !l.tls && !s.plain:
			say("250-mx.example.net", "250-8BITMIME", "250 STARTTLS")
		case verb == "EHLO":
			say("250-mx.example.net", "250-8BITMIME", "250 AUTH PLAIN LOGIN")
		case verb == "STARTTLS":
			say("220 go ahead")
			c = tls.Server(c, s.own)
			in, l = textproto.NewReader(bufio.NewReader(c)), letter{tls: true}
		case verb == "AUTH":
			_, word, _ := strings.Cut(rest, " ")
			raw, _ := base64.StdEncoding.DecodeString(word)
			parts := strings.Split(string(raw), "\x00")
			if len(parts) != 3 || parts[2] != "right" {
				say("535 5.7.8 authentication failed")
				continue
			}
			l.user = parts[1]
			say("235 2.7.0 welcome")
		case verb == "MAIL":
			l.from = rest
			say("250 2.1.0 ok")
		case verb == "RCPT" && s.gone != "" && strings.Contains(rest, s.gone):
			say("550 5.1.1 user unknown")
		case verb == "RSET":
			l.to = nil
			say("250 2.0.0 ok")
		case verb == "RCPT":
			l.to = append(l.to, strings.TrimPrefix(rest, "TO:"))
			say("250 2.1.5 ok")
		case verb == "DATA":
			say("354 end with a dot")
			text, err := in.ReadDotBytes()
			if err != nil {
				return
			}
			if s.refuses != "" {
				say(s.refuses)
				continue
			}
			l.text = string(text)
			s.got <- l
			say("250 2.0.0 queued")
		case verb == "QUIT":
			say("221 2.0.0 bye")
			return
		default:
			say("250 2.0.0 ok")
		}
	}
}

func (s *server) outlet(how, user, password string) *mail {
	m := newMail(settings.Mail{Server: s.Addr().String(), TLS: how, From: "realmgate@example.net", To: []string{"root@example.net", "noc@example.net"}, User: user, Password: password})
	m.trust = s.trust
	return m
}

// One mail takes what waits, to everybody, over TLS where it is to be; text of strangers makes no header.
func TestMailReachesAServer(t *testing.T) {
	t.Parallel()
	for how, user := range map[string]string{settings.TLSUpgrade: "gw", settings.TLSAtOnce: "gw", settings.TLSNone: ""} {
		s := newServer(t, how == settings.TLSAtOnce)
		lines := lined(t, 2, banned("198.51.100.7", "a\r\nBcc: x@example.org\r\n.\r\n"), banned("198.51.100.8", "jail ssh: 5 failures"))
		n, err := s.outlet(how, user, "right").deliver(t.Context(), lines, nil)
		if n != 2 || err != nil {
			t.Fatalf("%s: %d, %v", how, n, err)
		}
		l := <-s.got
		if l.user != user || l.tls != (how != settings.TLSNone) || fmt.Sprint(l.to) != "[<root@example.net> <noc@example.net>]" || !strings.HasPrefix(l.from, "FROM:<realmgate@example.net>") {
			t.Errorf("%s: %+v", how, l)
		}
		for _, want := range []string{"Subject: realmgate gw: 2 ban\n", "Auto-Submitted: auto-generated\n", "\nMessage-ID: ", "\nDate: ", "2 events: 2 ban; 2 more were lost\n", "198.51.100.8/32"} {
			if !strings.Contains("\n"+l.text, want) {
				t.Errorf("%s: %q is not in\n%s", how, want, l.text)
			}
		}
		if strings.Contains(l.text, "\nBcc:") {
			t.Errorf("%s: a stranger wrote a header:\n%s", how, l.text)
		}
	}
}

// A mail that cannot be sent stays, and the error says by which server and why, but no password.
func TestMailIsRefused(t *testing.T) {
	t.Parallel()
	full, plain, silent := newServer(t, false), newServer(t, false), newServer(t, false)
	full.refuses, plain.plain = "452 4.3.1 mailbox full", true
	untrusted := newServer(t, false).outlet(settings.TLSUpgrade, "", "")
	untrusted.trust = nil
	late := silent.outlet(settings.TLSAtOnce, "", "") // it waits for a hello that never is
	late.limit = 200 * time.Millisecond
	for want, m := range map[string]*mail{
		"mailbox full":                full.outlet(settings.TLSUpgrade, "", ""),
		"authentication failed":       newServer(t, false).outlet(settings.TLSUpgrade, "gw", "hunter2"),
		"STARTTLS":                    plain.outlet(settings.TLSUpgrade, "", ""),
		"certificate":                 untrusted,
		"":                            late,
		"connect: connection refused": newMail(settings.Mail{Server: "127.0.0.1:1", From: "a@example.net", To: []string{"b@example.net"}}),
	} {
		n, err := m.deliver(t.Context(), lined(t, 0, banned("198.51.100.7", "a")), nil)
		if n != 0 || err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), m.Server) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%d, %v, want %q", n, err, want)
		}
	}
}

// A recipient that is gone takes the mail from nobody else, and is told.
func TestMailWithoutARecipient(t *testing.T) {
	t.Parallel()
	s := newServer(t, false)
	s.gone = "root@example.net"
	m := s.outlet(settings.TLSUpgrade, "gw", "right")
	n, err := m.deliver(t.Context(), lined(t, 0, banned("198.51.100.7", "a")), nil)
	if n != 1 || err == nil || !strings.Contains(err.Error(), "user unknown") || !strings.Contains(err.Error(), s.gone) {
		t.Errorf("%d, %v", n, err)
	}
	select {
	case l := <-s.got:
		if fmt.Sprint(l.to) != "[<noc@example.net>]" {
			t.Errorf("it is sent to %v", l.to)
		}
	default:
		t.Error("nobody has it")
	}
	m.To = []string{s.gone}
	if n, err := m.deliver(t.Context(), lined(t, 0, banned("198.51.100.7", "a")), nil); n != 0 || err == nil {
		t.Errorf("when all are gone: %d, %v", n, err)
	}
}

// A mail that is refused for good is lost, and the next one is sent and says so.
func TestMailIsRefusedForGood(t *testing.T) {
	t.Parallel()
	s := newServer(t, false)
	s.refuses = "554 5.6.0 no such mails"
	k := newSink(Options{Name: "mail"}, slog.New(slog.DiscardHandler))
	k.put(&record{time.Now(), "gw", 1, banned("198.51.100.7", "a")}, false)
	if _, err := k.step(t.Context(), s.outlet(settings.TLSUpgrade, "gw", "right")); err == nil || !strings.Contains(err.Error(), "no such mails") {
		t.Errorf("it is refused: %v", err)
	}
	k.put(&record{time.Now(), "gw", 2, banned("198.51.100.8", "b")}, false)
	if e := k.queue.waiting; len(e) != 1 || e[0].lost != 1 || k.queue.lost != 1 || k.queue.delivered != 0 {
		t.Errorf("behind it wait %+v; %d are lost, %d delivered", e, k.queue.lost, k.queue.delivered)
	}
}

// A server that says nothing is left when the sink ends, whatever it was to say next.
func TestMailServerThatStalls(t *testing.T) {
	t.Parallel()
	for _, how := range []string{settings.TLSAtOnce, settings.TLSUpgrade} {
		listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = listener.Close() })
		m := newMail(settings.Mail{Server: listener.Addr().String(), TLS: how, From: "a@example.net", To: []string{"b@example.net"}})
		ctx, leave := context.WithCancel(t.Context())
		delivered := make(chan error, 1)
		lines := lined(t, 0, banned("198.51.100.7", "a"))
		go func() {
			_, err := m.deliver(ctx, lines, nil)
			delivered <- err
		}()
		c, err := listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if how == settings.TLSUpgrade {
			_, _ = io.WriteString(c, "220 mx.example.net ESMTP\r\n")
			if _, err := bufio.NewReader(c).ReadString('\n'); err != nil { // EHLO, which is not answered
				t.Fatal(err)
			}
		}
		leave()
		_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
		if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: the server is waited for: %v", how, err)
		}
		_ = c.Close()
		if err := <-delivered; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", how, err)
		}
	}
}
