package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/realmgate/realmgate/internal/lab/bench"
)

// Write writes result.json, result.csv and report.html into a folder, which it
// makes.
func Write(folder string, r bench.Report) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("make the folder of the report: %w", err)
	}
	for _, f := range []struct {
		name  string
		write func(io.Writer, bench.Report) error
	}{{"result.json", JSON}, {"result.csv", CSV}, {"report.html", HTML}} {
		if err := writeFile(filepath.Join(folder, f.name), func(w io.Writer) error { return f.write(w, r) }); err != nil {
			return fmt.Errorf("write the report: %w", err)
		}
	}
	return nil
}

func writeFile(path string, write func(io.Writer) error) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}

// JSON writes the report as result.json has it. Points of a curve that are not
// numbers are left out: JSON has no word for them.
func JSON(w io.Writer, r bench.Report) error {
	series := make([]bench.Series, 0, len(r.Series))
	for _, s := range r.Series {
		points := make([][2]float64, 0, len(s.Points))
		for _, p := range s.Points {
			if finite(p[0]) && finite(p[1]) {
				points = append(points, p)
			}
		}
		s.Points = points
		series = append(series, s)
	}
	r.Series = series
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(r); err != nil {
		return fmt.Errorf("write the report as JSON: %w", err)
	}
	return nil
}

// Read reads a result.json.
func Read(path string) (r bench.Report, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return r, fmt.Errorf("read a report: %w", err)
	}
	if len(text) == 0 {
		return r, fmt.Errorf("%s is empty: give the result.json of realmgate bench run --out", path)
	}
	var kind struct {
		Schema *string `json:"schema"`
	}
	if err := json.Unmarshal(text, &kind); err != nil || kind.Schema == nil {
		return r, fmt.Errorf("%s is no report: give the result.json of realmgate bench run --out", path)
	}
	if *kind.Schema != bench.Schema {
		return r, fmt.Errorf("%s has schema %q, and this program reads %q: measure again, or use the program that wrote it", path, *kind.Schema, bench.Schema)
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return r, fmt.Errorf("%s is a damaged report: %w", path, err)
	}
	return r, nil
}
