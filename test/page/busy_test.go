package page

// busy is more of a configuration: something of all that screens show. The second client may not come to the first host, and a
// log has what its writer should not be able to make markup of.
const busy = `protection: {honeypot: {tcp: [23], bantime: 1h}, blocklist: [203.0.113.0/24, {list: enemies}]}
lists: [{name: enemies, url: "http://198.51.100.10/none.txt"}]
jails:
  - {name: ssh, command: [/bin/sh, -c, "echo '<script>window.pwned=1</script>' >&2; exec sleep 1000"], patterns: ['^failed <ADDRESS>$']}
chains:
  - name: web
    match: {service: www.host1.foo.example.}
    functions:
      - {use: mirror, priority: 5}
      - {use: filter, name: friends, priority: 10, deny: [198.18.0.129]}
  - name: out
    match: {direction: out}
    functions: [{use: filter, priority: 10, deny: [{protocol: tcp, port: 25}]}]
`
