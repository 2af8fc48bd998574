package dut

import (
	"context"
	"fmt"
	"strings"

	"github.com/realmgate/realmgate/internal/lab/bench"
)

var nginx = bench.Model{
	Name: "nginx", About: "nginx that reads names of TLS (stream, ssl_preread), a worker for each CPU", Tools: []string{"nginx"},
	New: func() bench.Device { return &nginxDevice{} },
}

type nginxDevice struct{ proxy }

// Up lets each worker have a listening socket of its own. Its buffers are larger than by default (16 KiB): bulk is twice
// as fast so.
func (d *nginxDevice) Up(ctx context.Context, rig *bench.Rig, setup bench.Setup) error {
	if err := onlyWeb(setup); err != nil {
		return err
	}
	path, err := configure(rig, nginxConfiguration(rig.Directory+"/"+rig.Instance, setup.Web))
	if err != nil {
		return err
	}
	return d.start(ctx, rig, "nginx", "-p", rig.Directory, "-e", "stderr", "-c", path)
}

func nginxConfiguration(files string, web bench.Web) string {
	var text strings.Builder
	fmt.Fprintf(&text, `load_module /usr/lib/nginx/modules/ngx_stream_module.so;
daemon off; worker_processes auto; pid %s.pid; error_log stderr crit;
events { worker_connections 8192; }
stream {
 map $ssl_preread_server_name $host_of {
`, files)
	for i := range web.Hosts {
		fmt.Fprintf(&text, "  %s %s:%d;\n", web.Name(i), web.Host(i), bench.WebPort)
	}
	fmt.Fprintf(&text, ` }
 server { listen %d reuseport backlog=4096; ssl_preread on; proxy_buffer_size 64k; proxy_pass $host_of; }
}
`, bench.WebPort)
	return text.String()
}
