package e2e

import (
	"context"
	"fmt"
	"os"
	"strings"
)

// sipCall is sipp's own client but for its INVITE, which is longer than a frame: with so many ways to
// be reached, as a telephone behind several networks has.
var sipCall = `<?xml version="1.0" encoding="ISO-8859-1" ?>
<!DOCTYPE scenario SYSTEM "sipp.dtd">
<scenario name="call">
  <send retrans="500"><![CDATA[

      INVITE sip:[service]@[remote_ip]:[remote_port] SIP/2.0
      ` + sipHeader("", "1 INVITE") + `
      Content-Type: application/sdp
      Content-Length: [len]

      v=0
      o=- 1 1 IN IP4 [local_ip]
      s=-
      c=IN IP4 [local_ip]
      t=0 0
      m=audio [media_port] RTP/AVP 0
` + strings.Repeat("      a=candidate:1 1 UDP 2113937151 192.0.2.1 50000 typ host\n", 32) + `
  ]]></send>
  <recv response="100" optional="true"/>
  <recv response="180" optional="true"/>
  <recv response="200"/>
  <send><![CDATA[

      ACK sip:[service]@[remote_ip]:[remote_port] SIP/2.0
      ` + sipHeader("[peer_tag_param]", "1 ACK") + `
      Content-Length: 0

  ]]></send>
  <send retrans="500"><![CDATA[

      BYE sip:[service]@[remote_ip]:[remote_port] SIP/2.0
      ` + sipHeader("[peer_tag_param]", "2 BYE") + `
      Content-Length: 0

  ]]></send>
  <recv response="200"/>
</scenario>
`

// sipHeader is what every request of a call says.
func sipHeader(tag, sequence string) string {
	return strings.Join([]string{
		"Via: SIP/2.0/[transport] [local_ip]:[local_port];branch=[branch]",
		"From: <sip:sipp@[local_ip]:[local_port]>;tag=[pid]SIPpTag00[call_number]",
		"To: <sip:[service]@[remote_ip]:[remote_port]>" + tag,
		"Call-ID: [call_id]",
		"CSeq: " + sequence,
		"Contact: <sip:sipp@[local_ip]:[local_port]>",
		"Max-Forwards: 70"}, "\n      ")
}

// sipOut makes five calls. sipp gives up the call, and waits until its timeout, when both answers to an
// INVITE are lost: it takes the next INVITE for a mistake. So it may try again.
func sipOut(ctx context.Context, w *works, _ func()) error {
	scenario := w.file("call.xml")
	if err := os.WriteFile(scenario, []byte(sipCall), 0o600); err != nil {
		return err
	}
	var err error
	for range 3 {
		if err = w.run(ctx, "sipp", "-sf", scenario, "-i", w.host.IP.String(), "-p", "5070", "-m", "5", "-r", "20", "-timeout", "8s", "-timeout_error",
			"-nostdin", "-skip_rlimit", w.server.IP.String()+":5060"); err == nil {
			return nil
		}
	}
	return fmt.Errorf("three times: %w", err)
}
