package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: validate SCHEMA <DOCUMENTS")
		os.Exit(1)
	}
	if err := run(os.Args[1], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "validate:", err)
		os.Exit(1)
	}
}

func run(file string, documents io.Reader, refused io.Writer) error {
	schema, err := jsonschema.NewCompiler().Compile(file)
	if err != nil {
		return fmt.Errorf("read the schema: %w", err)
	}
	for decoder := json.NewDecoder(documents); ; {
		var d struct {
			Name     string
			Document json.RawMessage
		}
		if err := decoder.Decode(&d); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read the documents: %w", err)
		}
		document, err := jsonschema.UnmarshalJSON(strings.NewReader(string(d.Document)))
		if err != nil {
			return fmt.Errorf("read %s: %w", d.Name, err)
		}
		if err := schema.Validate(document); err != nil {
			if _, err := fmt.Fprintf(refused, "%s | %s\n", d.Name, strings.ReplaceAll(err.Error(), "\n", "; ")); err != nil {
				return fmt.Errorf("tell of %s: %w", d.Name, err)
			}
		}
	}
}
