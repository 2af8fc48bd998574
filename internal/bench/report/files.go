package report

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/realmgate/realmgate/internal/bench"
)

// Write writes result.json, result.csv and report.html into a folder, which it
// makes.
func Write(folder string, r bench.Report) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("make the folder of the report: %w", err)
	}
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	if err := os.WriteFile(filepath.Join(folder, "result.json"), append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// Read reads a result.json.
func Read(path string) (r bench.Report, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return r, fmt.Errorf("read a report: %w", err)
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return r, fmt.Errorf("%s is no report of realmgate bench: %w", path, err)
	}
	if r.Schema != bench.Schema {
		return r, fmt.Errorf("%s has schema %q; this program reads %q", path, r.Schema, bench.Schema)
	}
	return r, nil
}
