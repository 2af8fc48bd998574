package report

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/bench/method"
)

// What is written is what is read, and what was not measured is null.
func TestRoundTrip(t *testing.T) {
	r := sample()
	r.Incomplete = "interrupted"
	folder := filepath.Join(t.TempDir(), "a", "b")
	if err := Write(folder, r); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"result.json", "result.csv", "report.html"} {
		if info, err := os.Stat(filepath.Join(folder, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	read, err := Read(filepath.Join(folder, "result.json"))
	if err != nil {
		t.Fatal(err)
	}
	var before, after bytes.Buffer
	if err := JSON(&before, r); err != nil {
		t.Fatal(err)
	}
	if err := JSON(&after, read); err != nil {
		t.Fatal(err)
	}
	if before.String() != after.String() {
		t.Errorf("written:\n%s\nread:\n%s", before.String(), after.String())
	}
	unmeasured := read.Results[len(read.Results)-2]
	ratio := read.Ratios[len(read.Ratios)-1]
	for what, v := range map[string]method.Number{
		"median": unmeasured.Median, "p1": unmeasured.P1, "trial": unmeasured.Trials[0].Value, "ratio": ratio.Value, "least": ratio.Least,
	} {
		if !math.IsNaN(float64(v)) {
			t.Errorf("%s of what was not measured is %v", what, v)
		}
	}
	if !strings.Contains(before.String(), `"median": null`) || read.Incomplete != "interrupted" || len(read.Series) != len(r.Series) {
		t.Errorf("%s", before.String())
	}
	// The last point of each distribution is not a number.
	if got, want := len(read.Series[2].Points), len(r.Series[2].Points)-1; got != want {
		t.Errorf("%d points, want %d", got, want)
	}
}

func TestReadMistakes(t *testing.T) {
	folder := t.TempDir()
	for name, c := range map[string]struct{ text, want string }{
		"empty":   {"", "is empty: give the result.json"},
		"no-json": {"hello", "is no report: give the result.json"},
		"array":   {"[]", "is no report"},
		"other":   {`{"a": 1}`, "is no report"},
		"schema":  {`{"schema": "realmgate-bench/99"}`, `has schema "realmgate-bench/99", and this program reads "realmgate-bench/1"`},
		"damaged": {`{"schema": "realmgate-bench/1", "results": 3}`, "is a damaged report"},
		"cut":     {`{"schema": "realmgate-bench/1", "resul`, "is no report"},
	} {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(path); err == nil || !strings.Contains(err.Error(), path+" "+c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	if _, err := Read(filepath.Join(folder, "missing")); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Error(err)
	}
	if err := Write(filepath.Join(folder, "empty"), sample()); err == nil {
		t.Error("wrote below a file")
	}
}
