package browser

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// nginx starts one on a node with the servers given, which close idle
// connections after 5 s as Apache does. Names are told apart as servers.
func (w *world) nginx(node netns.Node, servers ...string) {
	w.t.Helper()
	directory := filepath.Join(w.directory, "nginx-"+node.Name())
	config := filepath.Join(directory, "nginx.conf")
	write(w.t, config, fmt.Sprintf(`daemon off;
user root;
worker_processes 1;
pid %[1]s/pid;
error_log %[1]s/error.log warn;
events { worker_connections 4096; }
http {
  access_log off;
  keepalive_timeout 5s;
  client_body_temp_path %[1]s/body;
  proxy_temp_path %[1]s/proxy;
  fastcgi_temp_path %[1]s/fastcgi;
  uwsgi_temp_path %[1]s/uwsgi;
  scgi_temp_path %[1]s/scgi;
%[2]s}
`, directory, strings.Join(servers, "")))
	w.server(node.Namespace, "nginx", "-p", directory, "-e", directory+"/error.log", "-c", config)
	eventually(w.t, 10*time.Second, "nginx listens on "+node.Name(), func() bool {
		out, err := node.Command(background, "ss", "-Hltn").Output()
		return err == nil && strings.Contains(string(out), ":80")
	})
}
