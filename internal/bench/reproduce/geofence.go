package reproduce

func geofence() Paper {
	return Paper{
		Name:     "Lorenzoni, Caprini and Guastella 2022, ipt_geofence – Performance Evaluation",
		Hardware: "Core i7-8750H, 16 GB, 10^5 one-packet connections by tcpreplay",
		Findings: []Finding{
			{
				Item: "Table 1", Needs: []Job{queue},
				Claim: "A verdict in user space for each new connection bounds them to tens of thousands a second.",
				Then:  "15.96 µs each, 62.6k/s",
				Judge: judgeVerdict,
			},
			{
				Item: "the sweep", Needs: []Job{queue},
				Claim: "Offered more, it takes no more: 60k of 70k and 80k, but 78k of 90k and 81k of 100k.",
				Then:  "the last two contradict the first",
				Judge: judgeSweep,
			},
		},
	}
}

func hanna() Paper {
	const why = "chains of network functions are a later part"
	unknown := func(Evidence) Verdict { return Verdict{Holds: Unknown, Why: why} }
	return Paper{
		Name:     "Hanna 2017, Lightweight Network Function Chaining Mechanism in Linux Kernel",
		Hardware: "Xeon X5690, KVM guests of 4 CPUs, Linux 4.4, virtio",
		Findings: []Finding{
			{Item: "Figure 7.2", Claim: "Two flows above a threshold are cut off, and each goes to its host.", Then: "50, 150, then 0 Mbit/s", Judge: unknown},
			{Item: "Table 7.3", Claim: "A chain takes 180 KB of memory and no CPU time that shows.", Then: "766,664 and 766,844 KB", Judge: unknown},
			{Item: "Table 7.4", Claim: "Chained flows are nearly as fast as routed ones.", Then: "797 and 800 against 801.6 and 804", Judge: unknown},
		},
	}
}
