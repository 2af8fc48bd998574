package reproduce

// Items that have several drawings.
const (
	offeredCurves = "Figures 3 to 13, as curves"
	hashFigure    = "Table 16, Figure 25"
	placeFigures  = "Figures 28 to 30"
	linearFigure  = "Table 18, Figure 33"
	nestedFigure  = "Table 19, Figure 35"
	overTime      = "connections over time"
)

// drawings lists them. Rates are drawn, as the papers did, and not the costs by which
// points are judged.
var drawings = []drawing{
	{item: "Table 15", title: "Figure 25 without tracking", name: "figure-25-notrack", job: flowCount.Name, plot: "rate", over: "flows"},
	{item: hashFigure, title: "Figure 25, new connections", name: "figure-25-new", job: hashLoad.Name, plot: "rate", over: "load"},
	{item: hashFigure, title: "Figure 25, known connections", name: "figure-25-known", job: hashLoad.Name, plot: "rate_reuse", over: "load"},
	{item: "Table 17, Figure 26", title: "Figure 26: scheduling of the sender", name: "figure-26", job: pinning.Name, plot: "rate", lines: pinned()},
	{item: "Figure 27", title: "Figure 27: targets of rules", name: "figure-27", job: targets.Name, plot: "rate", lines: targeted()},
	{item: placeFigures, title: "Figures 28 to 30 in one: place of the rule", name: "figures-28-to-30", job: position.Name, plot: "rate", over: "position"},
	{item: placeFigures, title: "Figure 28: first, middle and last rule", name: "figure-28", job: position.Name, plot: "rate", over: "position", values: []float64{1, 32768, 65536}, alone: true},
	{item: placeFigures, title: "Figure 29: the first 10,000 rules", name: "figure-29", job: position.Name, plot: "rate", over: "position", values: []float64{1, 10, 100, 1000, 10_000}, alone: true},
	{item: placeFigures, title: "Figure 30: the first 500 rules", name: "figure-30", job: position.Name, plot: "rate", over: "position", values: []float64{1, 10, 100, 200, 300, 400, 500}, alone: true},
	{item: "Figure 31", title: "Figure 31: DNAT by rules, a map or a pool", name: "figure-31", job: markDNAT.Name, plot: "rate", over: "pool"},
	{item: "Figure 32", title: "Figure 32: queues to user space", name: "figure-32", job: queue.Name, plot: "rate", lines: queued()},
	{item: linearFigure, title: "Figure 33: linear chains", name: "figure-33", job: arrangement.Name, plot: "rate", where: at{"levels": 1}, over: "chains"},
	{item: linearFigure, title: "Figure 33: linear chains", name: "figure-33-hits", job: arrangement.Name, plot: "hits", over: "chains", lines: modelled(at{"levels": 1})},
	{item: nestedFigure, title: "Figure 35: nested chains", name: "figure-35", job: arrangement.Name, plot: "rate", where: at{"chains": 256}, over: "levels", alone: true},
	{item: nestedFigure, title: "Figure 35: nested chains", name: "figure-35-hits", job: arrangement.Name, plot: "hits", over: "levels", lines: modelled(at{"chains": 256})},
	{item: offeredCurves, title: "Figure 5: routing", name: "figure-5-routed", job: offered.Name, plot: "replies", where: at{"layer": 1}, over: "offered"},
	{item: offeredCurves, title: "Figure 6: routing", name: "figure-6-routed", job: offered.Name, plot: "packets", where: at{"layer": 1}, over: "offered"},
	{item: offeredCurves, title: "Figure 7: connection tracking", name: "figure-7-tracked", job: offered.Name, plot: "replies", where: at{"layer": 2}, over: "offered"},
	{item: offeredCurves, title: "Figure 8: connection tracking", name: "figure-8-tracked", job: offered.Name, plot: "packets", where: at{"layer": 2}, over: "offered"},
	{item: offeredCurves, title: "Figure 9: tracking and a filter", name: "figure-9-filtered", job: offered.Name, plot: "replies", where: at{"layer": 3}, over: "offered"},
	{item: offeredCurves, title: "Figure 10: tracking and a filter", name: "figure-10-filtered", job: offered.Name, plot: "packets", where: at{"layer": 3}, over: "offered"},
	{item: offeredCurves, title: "Figure 11: NAT", name: "figure-11-translated", job: offered.Name, plot: "replies", where: at{"layer": 4}, over: "offered"},
	{item: offeredCurves, title: "Figure 11: NAT between httperf and nginx", name: "figure-11-httperf", job: offered.Name, plot: "replies_http", over: "offered"},
	{item: offeredCurves, title: "Figure 12: NAT", name: "figure-12-translated", job: offered.Name, plot: "packets", where: at{"layer": 4}, over: "offered"},
	{item: offeredCurves, title: "Figure 13: tracking, filter and NAT", name: "figure-13", job: offered.Name, plot: "replies", over: "offered", lines: layered()},
	{item: "Figure 14", title: "Figure 14: 40 million connections", name: "figure-14", job: manyIptables.Name, beside: []string{manyNftables.Name, manyRealmgate.Name}, plot: overTime},
	{item: "Figures 15, 16", title: "Figure 15: rules that do not match", name: "figure-15", job: ruleCount.Name, plot: "rate", over: "rules"},
	{item: "the last figure", title: "All rules at once", name: "rule-load", job: ruleLoad.Name, plot: "seconds", over: "rules"},
	{item: "the last figure", title: "One rule more", name: "rule-add", job: ruleLoad.Name, plot: "seconds_add", over: "rules"},
	{item: "Figure 7.3", title: "Figure 7.3: by the time of the task on the CPU in µs", name: "figure-7.3", job: chaining.Name, plot: "context switches", groups: switchGroups},
	{item: "the sweep", title: "The sweep of ipt_geofence", name: "geofence-sweep", job: protecting.Name, plot: "passed", over: "offered"},
}

// newAndKnown are two bars of a device, of a metric's first and further packets.
func newAndKnown(dut, group, metric string, where at) []line {
	return []line{
		{name: dut + ", new", group: group, dut: dut, metric: metric, where: where},
		{name: dut + ", known", group: group, dut: dut, metric: metric + "_reuse", where: where},
	}
}

// pinned are the test cases of Table 17, without a reserved CPU.
func pinned() (lines []line) {
	for _, c := range []struct {
		group string
		where at
	}{
		{"load 16, normal", at{"load": 16, "pinned": 0}}, {"load 16, pinned", at{"load": 16, "pinned": 1}},
		{"load 8, normal", at{"load": 8, "pinned": 0}}, {"load 8, pinned", at{"load": 8, "pinned": 1}},
	} {
		lines = append(lines, newAndKnown("conntrack", c.group, "rate", c.where)...)
		lines = append(lines, newAndKnown("realmgate", c.group, "rate", c.where)...)
	}
	return lines
}

// targeted has the targets in the paper's order.
func targeted() (lines []line) {
	for _, t := range []struct{ group, metric string }{
		{"NOTRACK", "rate_notrack"}, {"FORWARD (ACCEPT)", "rate_accept"}, {"DNAT", "rate_dnat"}, {"SNAT", "rate_snat"}, {"SNAT and DNAT", "rate_snat_dnat"},
	} {
		for _, dut := range []string{"iptables", "nftables", "realmgate"} {
			lines = append(lines, newAndKnown(dut, t.group, t.metric, nil)...)
		}
	}
	return lines
}

// queued are the cases of Figure 32: forwarding and DNAT, queues chosen by the CPU (fanout)
// or by addresses.
func queued() (lines []line) {
	for _, c := range []struct {
		group string
		where at
	}{
		{"1 queue", at{"queues": 1, "by_cpu": 0}}, {"4 queues", at{"queues": 4, "by_cpu": 0}}, {"4 queues, CPU fanout", at{"queues": 4, "by_cpu": 1}},
		{"8 queues", at{"queues": 8, "by_cpu": 0}}, {"8 queues, CPU fanout", at{"queues": 8, "by_cpu": 1}},
	} {
		for _, of := range []struct {
			name string
			nat  float64
		}{{"forwarding", 0}, {"DNAT", 2}} {
			lines = append(lines, line{name: of.name, group: c.group, dut: "nfqueue", where: at{"queues": c.where["queues"], "by_cpu": c.where["by_cpu"], "nat": of.nat}})
		}
	}
	return lines
}

// modelled is how many rules are looked at by the model, which is not measured.
func modelled(where at) []line { return []line{{name: "model", dut: "model", where: where}} }

// layered are the lines of Figure 13, and Realmgate beside NAT.
func layered() []line {
	return []line{
		{name: "tracking (conntrack)", dut: "conntrack", where: at{"layer": 2}},
		{name: "and ten rules (iptables)", dut: "iptables", where: at{"layer": 3}},
		{name: "and NAT (iptables)", dut: "iptables", where: at{"layer": 4}},
		{name: "NAT (realmgate)", dut: "realmgate", where: at{"layer": 4}},
	}
}
