package datapath

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
)

// Kernels before 6.9 give each call a multiple of 32 bytes of stack, and newer ones may
// do with 16: what the newest takes the oldest that we promise may refuse.
const (
	frameUnit      = 32
	mostStack      = 512
	mostUnderCalls = 256 // above a function that makes a tail call
)

// frame is what a function has of the stack, and which functions it calls.
type frame struct {
	bytes     int
	calls     []string
	tailCalls bool
}

func framesOf(list asm.Instructions) map[string]*frame {
	frames := map[string]*frame{}
	var now *frame
	var copies map[asm.Register]bool // of the frame pointer
	for _, ins := range list {
		if s := ins.Symbol(); s != "" && (now == nil || !strings.HasPrefix(s, "L")) {
			now, copies = &frame{bytes: 1}, map[asm.Register]bool{asm.RFP: true}
			frames[s] = now
		}
		class, op := ins.OpCode.Class(), ins.OpCode.ALUOp()
		switch {
		case ins.IsFunctionReference(): // also of one that the kernel calls back
			now.calls = append(now.calls, ins.Reference())
		case ins.IsBuiltinCall():
			now.tailCalls = now.tailCalls || ins.Constant == int64(asm.FnTailCall)
		case class.IsALU() && op == asm.Mov && ins.OpCode.Source() == asm.RegSource:
			copies[ins.Dst] = copies[ins.Src]
		case class.IsALU() && op == asm.Add && ins.OpCode.Source() == asm.ImmSource && copies[ins.Dst]:
			now.bytes = max(now.bytes, int(-ins.Constant))
			copies[ins.Dst] = false
		case class.IsLoad() && ins.Src == asm.RFP, class.IsStore() && ins.Dst == asm.RFP:
			now.bytes = max(now.bytes, -int(ins.Offset))
		}
		if class.IsLoad() {
			copies[ins.Dst] = false
		}
	}
	for _, f := range frames {
		f.bytes = (f.bytes + frameUnit - 1) / frameUnit * frameUnit
	}
	return frames
}

// deepest returns the deepest row of calls from a function on, with above bytes of
// stack above it, and what breaks the limits.
func deepest(frames map[string]*frame, name string, above int) (bytes int, row string, wrong []string) {
	f := frames[name]
	if f.tailCalls && above >= mostUnderCalls {
		wrong = append(wrong, fmt.Sprintf("%s makes a tail call under %d bytes", name, above))
	}
	bytes, row = above+f.bytes, fmt.Sprintf("%s %d", name, f.bytes)
	for _, call := range f.calls {
		b, r, w := deepest(frames, call, above+f.bytes)
		wrong = append(wrong, w...)
		if b > bytes {
			bytes, row = b, fmt.Sprintf("%s %d, %s", name, f.bytes, r)
		}
	}
	return bytes, row, wrong
}

func TestStackFitsOldKernels(t *testing.T) {
	for form, load := range map[string]func() (*ebpf.CollectionSpec, error){
		"xdp": loadBpf, "tcx": loadTcx, "xdp, dry": loadExplain, "tcx, dry": loadExplainTCX,
	} {
		spec, err := load()
		if err != nil {
			t.Fatal(err)
		}
		for name, p := range spec.Programs {
			checkStack(t, form+": "+name, framesOf(p.Instructions), name)
		}
	}
}

func checkStack(t *testing.T, of string, frames map[string]*frame, name string) {
	t.Helper()
	bytes, row, wrong := deepest(frames, name, 0)
	if bytes > mostStack {
		wrong = append(wrong, fmt.Sprintf("%d bytes of stack", bytes))
	}
	for _, w := range wrong {
		t.Errorf("%s: %s: %s", of, w, row)
	}
	t.Logf("%s: %d bytes of stack: %s", of, bytes, row)
}
