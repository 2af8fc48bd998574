package config

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/realmgate/realmgate/internal/schema"
)

// Object is a function of the user's own.
type Object struct {
	File string // as the configuration has it
	Code []byte // what is in it
	May  May
	Per  Per // PerFlow or PerPacket
}

// May is what a function of the user's own may do with packets.
type May uint8

// A function only reads packets, or changes them too.
const (
	MayRead May = iota
	MayRewrite
)

// String returns the word of the configuration.
func (m May) String() string { return schema.Word(int(m), "may", "read", "rewrite") }

const (
	objectSuffix = ".bpf.o"
	mostObject   = 4 << 20 // bytes
)

// Used is what stands after `use`: a word, or the path of an object.
func (f Function) Used() string {
	if f.Use == UseObject {
		return f.Object.File
	}
	return f.Use.String()
}

// used is a function: one of the words, or an object.
func (f *functionDraft) used(words schema.Kind[Use]) schema.Kind[Use] {
	k := words
	k.Name, k.Allowed, k.Want = "word or path", words.Allowed+", or ./NAME.bpf.o", words.Want+", or the path of your own (./name.bpf.o)"
	k.Parse = func(text string) (Use, error) {
		switch slash := strings.Contains(text, "/"); {
		case !strings.HasSuffix(text, ".o") && !slash:
			return words.Parse(text)
		case !slash:
			return 0, errors.New("a path has a slash: ./" + text)
		case !strings.HasSuffix(text, objectSuffix):
			return 0, errors.New("a compiled function's file ends in " + objectSuffix)
		}
		f.function.Object.File = text
		return UseObject, nil
	}
	return k
}

// name is the object's own where it is given none: that of its file, as a label.
func (o Object) name() string {
	if o.File == "" {
		return ""
	}
	name := strings.TrimSuffix(filepath.Base(o.File), objectSuffix)
	return strings.ToLower(strings.NewReplacer("_", "-", ".", "-").Replace(name))
}

// checkObject reads an object's file.
func (f *functionDraft) checkObject(faults *schema.Faults, path string) {
	o := &f.function.Object
	if _, err := schema.Label().Parse(f.name()); err != nil {
		faults.Add(f.line, "%s: its file's name makes no name: give it one of %s", path, schema.Label().Allowed)
	}
	if o.Per = f.function.Meter.Per; o.Per != PerFlow && o.Per != PerPacket {
		line, _ := f.gave("per")
		faults.Add(line, "%s.per: want flow or packet, not %s", path, o.Per)
	}
	var err error
	if o.Code, err = readObject(faults.File, o.File); err != nil {
		faults.Add(f.line, "%s.use: %v", path, err)
	}
}

func readObject(configuration, path string) ([]byte, error) {
	file, err := schema.OpenBeside(configuration, path, "function")
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // only read: nothing can be lost
	code, err := io.ReadAll(io.LimitReader(file, mostObject+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the function %s: %w", file.Name(), err)
	case len(code) > mostObject:
		return nil, fmt.Errorf("%s is larger than %d MiB", file.Name(), mostObject>>20)
	}
	return code, nil
}
