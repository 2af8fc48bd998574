package dut

import (
	"context"
	"fmt"
	"strings"

	"github.com/realmgate/realmgate/internal/lab/bench"
)

var haproxy = bench.Model{
	Name: "haproxy", About: "HAProxy that reads names of TLS (mode tcp, req.ssl_sni), a thread for each CPU", Tools: []string{"haproxy"},
	New: func() bench.Device { return &haproxyDevice{} },
}

type haproxyDevice struct{ proxy }

func (d *haproxyDevice) Up(ctx context.Context, rig *bench.Rig, setup bench.Setup) error {
	if err := onlyWeb(setup); err != nil {
		return err
	}
	path, err := configure(rig, haproxyConfiguration(setup.Web))
	if err != nil {
		return err
	}
	return d.start(ctx, rig, "haproxy", "-db", "-f", path)
}

// haproxyConfiguration waits for the whole hello, as its manual advises. Data are spliced in the kernel where that pays.
func haproxyConfiguration(web bench.Web) string {
	var text strings.Builder
	fmt.Fprintf(&text, `global
 maxconn 4000
 tune.bufsize 65536
defaults
 mode tcp
 option splice-auto
 timeout connect 3s
 timeout client 60s
 timeout server 60s
frontend sites
 bind :%d backlog 4096
 tcp-request inspect-delay 3s
 tcp-request content accept if { req.ssl_hello_type 1 }
`, bench.WebPort)
	for i := range web.Hosts {
		fmt.Fprintf(&text, " use_backend h%d if { req.ssl_sni -i %s }\n", i, web.Name(i))
	}
	for i := range web.Hosts {
		fmt.Fprintf(&text, "backend h%d\n server h%d %s:%d\n", i, i, web.Host(i), bench.WebPort)
	}
	return text.String()
}
