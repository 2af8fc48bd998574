package cli

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/realmgate/realmgate/internal/bugreport"
	"github.com/realmgate/realmgate/internal/client"
	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/doctor/collect"
)

func newBugreport(a *app) *cobra.Command {
	command := &cobra.Command{
		Use:   "bugreport",
		Short: "Put together what helps others to find a fault",
		Long: `Write into one file what somebody needs who looks for a fault from afar: what the
doctor says, how the gateway is, its configuration, log and counters, what its
tables and programs are, and how the machine and its networks are. It takes root,
less than ten seconds, and no gateway that answers: it may hang, or be dead.

Secrets are taken out: passwords, keys, tokens, headers, the paths of URLs, and
comments of the configuration. With --anonymize addresses and names are others, the
same ones always in the same way. The list of what is in it comes first in the file,
and is printed. Look through it before you pass it on: tar -xf FILE`,
		Example: `  realmgate bugreport
  realmgate bugreport --anonymize -w report.tar.zst`,
		Args: cobra.NoArgs,
	}
	flags := command.Flags()
	file := flags.StringP("config", "c", "", "configuration `FILE`, instead of that in force")
	path := flags.StringP("write", "w", "", "write into `FILE`, instead of one with the time in its name, here")
	anonymize := flags.Bool("anonymize", false, "write addresses and names as others")
	command.RunE = does(func(ctx context.Context) error {
		out, err := createReport(*path, "realmgate-bugreport-"+a.now().UTC().Format("20060102T150405Z")+".tar.zst")
		if err != nil {
			return fmt.Errorf("write the report: %w", err)
		}
		list, err := a.bugreport(ctx, out, *file, *anonymize)
		if err := errors.Join(err, out.Close()); err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.stdout, "%s\nThe report is %s\n", list, out.Name())
		return written(err)
	})
	return command
}

// createReport makes the file of a report: that which was asked for, over what is there, else one of a name that others may have
// guessed, only where there is nothing yet.
func createReport(asked, otherwise string) (*os.File, error) {
	if asked != "" {
		return os.OpenFile(asked, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	}
	file, err := os.OpenFile(otherwise, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		err = fmt.Errorf("%w: name another by --write", err)
	}
	return file, err
}

// bugreport writes one, and returns the list of what is in it.
func (a *app) bugreport(ctx context.Context, w io.Writer, file string, anonymize bool) (string, error) {
	socket := cmp.Or(a.socket, client.SocketPath(string(a.instance)))
	source := bugreport.Source{Instance: string(a.instance), Socket: socket, PID: collect.Listener(socket)}
	if file == "" {
		file = a.configInForce(ctx)
	}
	text, secrets, names := "", []string(nil), []string(nil)
	if file != "" {
		files, d := configFiles(file)
		for _, f := range files {
			clean, found := bugreport.Configuration([]byte(f.Text))
			text += fmt.Sprintf("# %s\n%s", f.File, clean)
			secrets = append(secrets, found...)
		}
		if d != nil {
			source.Interfaces = append(append(source.Interfaces, d.Config.Interfaces.Public...), d.Config.Interfaces.Private...)
			names = namesOf(d.Config)
		}
	}
	parts := append([]bugreport.Part{
		{Name: "doctor.txt", About: "what is wrong, as the doctor says", Make: func(ctx context.Context) ([]byte, error) {
			return []byte(doctorText(a.examine(ctx, file, ""))), nil
		}},
		{Name: "configuration.yaml", About: "the configuration without secrets and comments", Make: func(context.Context) ([]byte, error) { return []byte(text), nil }},
		{Name: "version.txt", About: "this program, which may be another than the daemon's", Make: func(context.Context) ([]byte, error) {
			info, _ := debug.ReadBuildInfo() // nil prints, too
			return fmt.Appendf(nil, "realmgate %s, %s\n%s\n", client.Version(), runtime.Version(), info), nil
		}},
	}, source.Parts()...)
	clean := bugreport.Scrub(secrets)
	if anonymize {
		host, _ := os.Hostname() // else nobody knows it
		key := make([]byte, 32)
		_, _ = rand.Read(key) // it never fails
		other := bugreport.NewAnonymizer(key, append(names, host))
		scrub := clean
		clean = func(text []byte) []byte { return other.Clean(scrub(text)) }
	}
	return bugreport.Write(ctx, w, parts, clean, a.now())
}

// configFiles are the texts of a configuration, also of one that is wrong, and what it says where it is not.
func configFiles(file string) (files []client.ConfigFile, d *config.Document) {
	d, err := config.Read(file)
	if err != nil {
		text, _ := os.ReadFile(file)
		return []client.ConfigFile{{File: file, Text: string(text)}}, nil
	}
	for _, f := range d.Files() {
		files = append(files, client.ConfigFile{File: f.Path, Text: string(f.Text)})
	}
	return files, d
}

// namesOf are the names of a configuration: zones have most of them.
func namesOf(c *config.Config) (names []string) {
	for _, z := range c.Realm.Zones {
		names = append(names, z.Name.String())
	}
	if !c.Interfaces.Single() {
		names = append(names, c.Realm.Nameserver.String())
	}
	for _, h := range c.Hosts {
		names = append(names, h.Name.String())
	}
	return names
}
