package page

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/test/lab"
)

// What a frame costs: what its messages and its drawing take together.
const measureFrames = `(() => {
  window.frames_ = [];
  let work = 0;
  const timed = (f) => function (...args) {
    const begin = performance.now();
    try { return f.apply(this, args); } finally { work += performance.now() - begin; }
  };
  const listen = EventSource.prototype.addEventListener;
  EventSource.prototype.addEventListener = function (kind, f) { return listen.call(this, kind, timed(f)); };
  const frame = window.requestAnimationFrame.bind(window);
  window.requestAnimationFrame = (f) => frame((at) => {
    timed(f)(at);
    window.frames_.push(work);
    work = 0;
  });
})()`

// A pool of 65,536 addresses, of which 20,000 change each second, is drawn in less than a frame, and keeps no memory.
func TestLargePool(t *testing.T) {
	t.Parallel()
	const addresses, changes, each = 65536, 2000, 100 * time.Millisecond
	long := 10 * time.Second
	if lab.Lengthy() {
		long = 10 * time.Minute
	}
	const letters = "fbocr"
	states := make([]byte, addresses)
	for i := range states {
		states[i] = letters[i%len(letters)]
	}
	f := &fake{answers: map[string]string{
		"/v1/caller":   `{"role":"admin","kind":"user","name":"0"}`,
		"/v1/status":   string(marshal(t, api.Status{Health: "All is well.", Warnings: []string{}, Reasons: []api.ReasonCount{}})),
		"/v1/pool/map": `{"number":0,"ranges":[{"first":"198.18.0.0","count":65536}],"states":"` + string(states) + `","offer":2,"rest":60}`,
	}}
	f.stream = func(ctx context.Context, tell func(topic, data string)) {
		random := rand.New(rand.NewPCG(1, 2)) // #nosec G404 -- the same each time
		status := f.answers["/v1/status"]
		tell("status", status)
		tick := time.NewTicker(each)
		defer tick.Stop()
		for number := uint64(1); ; number++ {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			change := api.PoolChange{Number: number, At: make([]int, changes)}
			var now strings.Builder
			for i := range change.At {
				change.At[i] = random.IntN(addresses)
				now.WriteByte(letters[random.IntN(len(letters))])
			}
			change.States = now.String()
			tell("pool", string(marshal(t, change)))
			if number%10 == 0 {
				tell("status", status)
			}
		}
	}
	b, at := f.serve(t)
	b.do("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": measureFrames}, nil)
	b.open(at + "/")
	b.until("the pool is painted", `document.querySelector("#ring canvas") !== null && window.frames_.length > 5`)
	b.look("large")
	heap := func() float64 {
		var used struct{ UsedSize float64 }
		b.do("HeapProfiler.collectGarbage", map[string]any{}, nil)
		b.do("Runtime.getHeapUsage", map[string]any{}, &used)
		return used.UsedSize / (1 << 20)
	}
	before := heap()
	b.eval(`window.frames_.length = 0`, nil)
	begin := time.Now()
	eventually(t, long+time.Minute, "the time passes", func() bool { return time.Since(begin) > long })
	var frames []float64
	b.eval(`window.frames_`, &frames)
	slices.Sort(frames)
	if len(frames) == 0 {
		t.Fatal("nothing was drawn")
	}
	median, late := frames[len(frames)/2], frames[len(frames)*99/100]
	after := heap()
	t.Logf("%d addresses, %d changes a second for %s: %.1f frames a second, %.1f ms in the median, %.1f ms in 99 of 100; heap %.1f MiB, %.1f MiB before",
		addresses, changes*int(time.Second/each), long, float64(len(frames))/long.Seconds(), median, late, after, before)
	if median >= 16 {
		t.Errorf("a frame takes %.1f ms in the median", median)
	}
	if after >= 100 {
		t.Errorf("the heap has %.1f MiB", after)
	}
	b.quiet("large")
}

func marshal(t *testing.T, value any) []byte {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
