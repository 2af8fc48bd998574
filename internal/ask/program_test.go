package ask

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A program is asked in lines of JSON, called again when it has ended or said what cannot be read, and not heard then.
func TestProgram(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "it")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	connected, lost, heard := make(chan struct{}, 9), make(chan error, 9), make(chan Answer, 9)
	p := newProgram(socket)
	p.connected = func() { connected <- struct{}{} }
	p.lost = func(err error) { lost <- err }
	p.heard = func(a Answer) error { heard <- a; return nil }
	ctx, end := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() { defer close(over); p.run(ctx) }()
	for says, want := range map[string]string{
		"": "the program has ended the connection", `{"id":1}` + "\n": "want accept, drop, continue or more", "no JSON\n": "read the program's answer",
		`{"id":1,"verdict":"more","mark":300}` + "\n": "read the program's answer", strings.Repeat("x", mostAnswer+1): "buffer full",
	} {
		c, err := listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		<-connected
		p.put(Question{ID: 7, Function: "web/ask", Data: []byte("GET /")})
		var q map[string]any
		if line, err := bufio.NewReader(c).ReadBytes('\n'); err != nil || json.Unmarshal(line, &q) != nil || q["data"] != "R0VUIC8=" || q["id"] != 7.0 {
			t.Fatalf("the question is %v: %s, %v", q, line, err)
		}
		if _, err := c.Write([]byte(`{"id":7,"verdict":"continue","mark":5}` + "\n" + says)); err != nil {
			t.Fatal(err)
		}
		if got := <-heard; got != (Answer{ID: 7, Verdict: "continue", Mark: 5}) {
			t.Errorf("heard %+v", got)
		}
		if says == "" {
			_ = c.Close()
		}
		if err := <-lost; !strings.Contains(err.Error(), want) {
			t.Errorf("after %.20q: %v, want %s", says, err, want)
		}
		_ = c.Close()
	}
	end()
	select {
	case <-over:
	case <-time.After(10 * time.Second):
		t.Fatal("it does not end")
	}
}

// One that does not read holds nobody up.
func TestProgramThatDoesNotRead(t *testing.T) {
	t.Parallel()
	p := newProgram("/nowhere")
	for range 2 * mostQuestions {
		p.put(Question{})
	}
	if len(p.questions) != mostQuestions {
		t.Errorf("%d questions wait", len(p.questions))
	}
}
