package lists

import (
	"fmt"
	"os"
	"time"
)

// file reads a list from a file of this machine, which is unchanged as long as its size
// and the time of its last change are.
func (f *Fetcher) file(path string, have Validators) (Answer, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Answer{}, err
	}
	if !info.Mode().IsRegular() { // opening a pipe would wait
		return Answer{}, fmt.Errorf("%s is not a file", path)
	}
	said := Validators{ETag: fmt.Sprint(info.Size()), Modified: info.ModTime().UTC().Format(time.RFC3339Nano)}
	if said == have {
		return Answer{Unchanged: true, Validators: said}, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return Answer{}, err
	}
	defer func() { _ = file.Close() }() // only read: nothing can be lost
	body, err := f.plain(file)
	return Answer{Body: body, Validators: said}, err
}
