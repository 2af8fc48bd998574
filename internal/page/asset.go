package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"
)

//go:embed assets
var assetFiles embed.FS

// assetPath is where scripts, style and pictures are, below a hash of all of them: they never change there, and find each other.
const assetPath = "/assets/"

// asset is one of them.
type asset struct{ plain, packed []byte }

// assets are made when somebody first looks: a daemon whose page nobody opens does not pay for it.
var assets = sync.OnceValue(func() (all struct {
	folder string
	of     map[string]asset
}) {
	sum := sha256.New()
	all.of = map[string]asset{}
	_ = fs.WalkDir(assetFiles, "assets", func(name string, entry fs.DirEntry, err error) error { // of what is in the program
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := assetFiles.ReadFile(name)
		if err != nil {
			return err
		}
		_, _ = sum.Write([]byte(name + "\x00"))
		_, _ = sum.Write(text)
		var packed bytes.Buffer
		w, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression)
		_, _ = w.Write(text)
		_ = w.Close()
		all.of[strings.TrimPrefix(name, "assets/")] = asset{text, packed.Bytes()}
		return nil
	})
	all.folder = assetPath + hex.EncodeToString(sum.Sum(nil))[:16]
	return all
})

func serveAsset(w http.ResponseWriter, r *http.Request) {
	all := assets()
	name, ours := strings.CutPrefix(r.URL.Path, all.folder+"/")
	one, known := all.of[name]
	if !ours || !known {
		http.NotFound(w, r)
		return
	}
	head := w.Header()
	head.Set("Cache-Control", "public, max-age=31536000, immutable")
	head.Set("Content-Type", contentTypes[path.Ext(name)])
	head.Set("Vary", "Accept-Encoding")
	text := one.plain
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		head.Set("Content-Encoding", "gzip")
		text = one.packed
	}
	_, _ = w.Write(text) // fails only for a client that has gone
}

// contentTypes do not depend on the machine's own table, as mime's do.
var contentTypes = map[string]string{
	".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml", ".txt": "text/plain; charset=utf-8",
}
