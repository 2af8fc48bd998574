package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const (
	program   = "usr/bin/realmgate"
	documents = "usr/share/doc/realmgate"
	source    = "https://github.com/realmgate/realmgate"
)

func main() {
	if len(os.Args) < 5 {
		fmt.Fprintln(os.Stderr, "image: give the version, the archive, a folder of companions, and ARCHITECTURE=PROGRAM")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2], os.Args[3], os.Args[4:]); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func write(version, archive, companions string, programs []string) error {
	seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return fmt.Errorf("read SOURCE_DATE_EPOCH: %w", err)
	}
	created := time.Unix(seconds, 0).UTC()
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range programs {
		architecture, path, is := strings.Cut(p, "=")
		if !is {
			return fmt.Errorf("%q is not ARCHITECTURE=PROGRAM", p)
		}
		image, err := imageOf(version, architecture, path, companions, created)
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: architecture}},
		})
	}
	folder, err := os.MkdirTemp("", "image-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	at, err := layout.Write(folder, empty.Index)
	if err != nil {
		return err
	}
	if err := at.AppendIndex(index, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": tagOf(version)})); err != nil {
		return err
	}
	return pack(archive, folder, created)
}

// tagOf is a version as a tag of an image can have it.
func tagOf(version string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("~+", r) {
			return '-'
		}
		return r
	}, version)
}

// imageOf has one layer, and says how the program begins.
func imageOf(version, architecture, path, companions string, created time.Time) (v1.Image, error) {
	octets, err := layerOf(path, companions, created)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(octets)), nil }, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err = mutate.Append(image, mutate.Addendum{Layer: layer, History: v1.History{Created: v1.Time{Time: created}, CreatedBy: "make packages"}})
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = "linux", architecture, v1.Time{Time: created}
	config.Config.Entrypoint, config.Config.Cmd = []string{"/" + program}, []string{"run", "-c", "/etc/realmgate.yaml"}
	config.Config.StopSignal = "SIGTERM"
	config.Config.Labels = map[string]string{
		"org.opencontainers.image.title": "realmgate", "org.opencontainers.image.version": version,
		"org.opencontainers.image.source": source, "org.opencontainers.image.licenses": "Apache-2.0 AND (GPL-2.0-only OR BSD-2-Clause)",
	}
	return mutate.ConfigFile(image, config)
}

// layerOf is the archive of a layer: the program, what is to be told with it, and folders that it writes to.
func layerOf(path, companions string, created time.Time) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	folders := []string{"etc/", "run/", "sys/", "tmp/", "usr/", "usr/bin/", "usr/share/", "usr/share/doc/", documents + "/", "var/", "var/lib/"}
	for _, name := range folders {
		mode := int64(0o755)
		if name == "tmp/" {
			mode = 0o1777
		}
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: mode, ModTime: created}); err != nil {
			return nil, err
		}
	}
	files := map[string]string{path: program}
	names := []string{path}
	entries, err := os.ReadDir(companions) // in the order of their names
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		from := filepath.Join(companions, e.Name())
		files[from], names = documents+"/"+e.Name(), append(names, from)
	}
	for _, from := range names {
		mode := int64(0o644)
		if from == path {
			mode = 0o755
		}
		if err := put(w, from, &tar.Header{Name: files[from], Mode: mode, ModTime: created}); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// put adds a file to an archive.
func put(w *tar.Writer, from string, h *tar.Header) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	h.Typeflag, h.Size = tar.TypeReg, int64(len(text))
	if err := w.WriteHeader(h); err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

// pack makes one file of a folder.
func pack(archive, folder string, created time.Time) (err error) {
	file, err := os.Create(archive)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	w := tar.NewWriter(file)
	walked := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		name, relative := filepath.Rel(folder, path)
		if err = errors.Join(err, relative); err != nil || name == "." {
			return err
		}
		if e.IsDir() {
			return w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o755, ModTime: created})
		}
		return put(w, path, &tar.Header{Name: name, Mode: 0o644, ModTime: created})
	})
	return errors.Join(walked, w.Close())
}
