package page

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

// What others made is as LIST says, byte for byte, and each has its licence; nothing else is there.
func TestVendored(t *testing.T) {
	t.Parallel()
	list, err := os.Open("assets/vendored/LIST")
	if err != nil {
		t.Fatal(err)
	}
	defer list.Close()
	known := map[string]bool{"LIST": true, "preact.LICENSE.txt": true} // which is inside of htm's file
	for lines := bufio.NewScanner(list); lines.Scan(); {
		fields := strings.Split(lines.Text(), "  ")
		if len(fields) != 4 {
			t.Fatalf("LIST: %q is not hash, file, package and version, licence", lines.Text())
		}
		text, err := assetFiles.ReadFile("assets/vendored/" + fields[1])
		if sum := sha256.Sum256(text); err != nil || hex.EncodeToString(sum[:]) != fields[0] {
			t.Errorf("%s is not what LIST says: %v", fields[1], err)
		}
		licence, _, _ := strings.Cut(fields[2], " ")
		known[fields[1]], known[licence+".LICENSE.txt"] = true, true
	}
	entries, err := fs.ReadDir(assetFiles, "assets/vendored")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !known[e.Name()] {
			t.Errorf("%s is not in LIST", e.Name())
		}
		delete(known, e.Name())
	}
	for name := range known {
		t.Errorf("there is no %s", name)
	}
}

// Assets never change where they are, their types are known, and all together stay light.
func TestAssets(t *testing.T) {
	t.Parallel()
	const most = 150 << 10 // octets of scripts and style, packed
	sum := 0
	for name, one := range assets().of {
		if strings.HasPrefix(name, "vendored/L") || strings.HasSuffix(name, ".txt") {
			continue
		}
		sum += len(one.packed)
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, assets().folder+"/"+name, http.NoBody)
		w := httptest.NewRecorder()
		serveAsset(w, r)
		if w.Code != http.StatusOK || contentTypes[path.Ext(name)] == "" || !strings.Contains(w.Header().Get("Cache-Control"), "immutable") {
			t.Errorf("%s: %d %v", name, w.Code, w.Header())
		}
	}
	t.Logf("scripts and style: %d octets packed", sum)
	if sum > most {
		t.Errorf("scripts and style are %d octets packed, the budget is %d", sum, most)
	}
	w := httptest.NewRecorder()
	serveAsset(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/assets/0123456789abcdef/page.js", http.NoBody))
	if w.Code != http.StatusNotFound {
		t.Errorf("under another hash: %d", w.Code)
	}
}

// What a script imports is used there, and what it exports somewhere else.
func TestImportsAreUsed(t *testing.T) {
	t.Parallel()
	imports := regexp.MustCompile(`(?m)^import \{([^}]*)\} from "([^"]*)";$`)
	exports := regexp.MustCompile(`(?m)^export (?:async )?(?:const|function|class) (\w+)`)
	used := map[string]bool{} // by some other
	texts := map[string]string{}
	err := fs.WalkDir(assetFiles, "assets", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || path.Ext(name) != ".js" || strings.Contains(name, "vendored") {
			return err
		}
		text, err := assetFiles.ReadFile(name)
		texts[name] = string(text)
		return err
	})
	if err != nil || len(texts) < 15 {
		t.Fatalf("%v, %d scripts", err, len(texts))
	}
	for name, text := range texts {
		rest := imports.ReplaceAllString(text, "")
		for _, m := range imports.FindAllStringSubmatch(text, -1) {
			for word := range strings.SplitSeq(m[1], ",") {
				word = strings.TrimSpace(word)
				used[path.Join(path.Dir(name), m[2])+" "+word] = true
				if !regexp.MustCompile(`\b` + word + `\b`).MatchString(rest) {
					t.Errorf("%s imports %s and does not use it", name, word)
				}
			}
		}
	}
	for name, text := range texts {
		for _, m := range exports.FindAllStringSubmatch(text, -1) {
			if !used[name+" "+m[1]] {
				t.Errorf("%s exports %s, which nobody imports", name, m[1])
			}
		}
	}
}
