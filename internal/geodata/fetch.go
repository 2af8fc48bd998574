package geodata

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const longestFetch = 5 * time.Minute

// fetchDebian fetches the package of countries, by the sources and keys that this machine
// trusts, and returns its file. Nothing is installed.
func fetchDebian(ctx context.Context, directory string) (string, error) {
	const pkg = "tor-geoipdb"
	if _, err := exec.LookPath("apt-get"); err != nil {
		return "", errors.New("there is no apt-get, which fetches " + pkg + ": give its .deb, or an .mmdb, by --country")
	}
	return fetch(ctx, directory, "*.deb", "apt-get", "download", pkg)
}

const withoutNPM = "give its .tgz, or an .mmdb, by --asn, or do without ASNs by --asn " + None

var errNoNPM = errors.New("PATH has no npm, which fetches @ip-location-db/asn: install it, " + withoutNPM)

// fetchNPM fetches the package of autonomous systems, and returns its file.
func fetchNPM(ctx context.Context, directory string) (string, error) {
	if _, err := exec.LookPath("npm"); err != nil {
		return "", errNoNPM
	}
	path, err := fetch(ctx, directory, "*.tgz", "npm", "pack", "--ignore-scripts", "@ip-location-db/asn")
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, withoutNPM)
	}
	return path, nil
}

// fetch runs a command that leaves one file in the folder.
func fetch(ctx context.Context, directory, pattern, program string, arguments ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, longestFetch)
	defer cancel()
	command := exec.CommandContext(ctx, program, arguments...) //nolint:gosec // our own words
	var said bytes.Buffer
	command.Dir, command.Stderr = directory, &said
	what := program + " " + strings.Join(arguments, " ")
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("%s: %w: %s", what, errors.Join(err, context.Cause(ctx)), complaint(said.String()))
	}
	files, err := filepath.Glob(filepath.Join(directory, pattern))
	if err != nil || len(files) != 1 {
		return "", fmt.Errorf("%s left %d files %s, want one", what, len(files), pattern)
	}
	return files[0], nil
}

// complaint is the first line of what a package manager said that is no warning.
func complaint(said string) string {
	for line := range strings.Lines(said) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "W:") && !strings.HasPrefix(line, "npm warn") {
			return line
		}
	}
	return "it said nothing"
}
