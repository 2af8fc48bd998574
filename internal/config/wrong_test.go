package config

import "testing"

// What only the machine shows is told with its place in the file, as any other fault.
func TestWrongHasItsLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"interfaces:\n  public: [eth0]\n  private:\n    - eth1\n    - eth2\n": "f.yaml:5: interfaces.private: it is not there",
		"interfaces:\n  public: [eth0]\n  private: [eth1, eth2]\n":            "f.yaml:3: interfaces.private: it is not there",
		"interfaces: {public: [eth0],\n  private: eth2}\n":                    "f.yaml:2: interfaces.private: it is not there",
		"hosts: []\n": "f.yaml:1: interfaces.private: it is not there",
	} {
		d := &Document{file: "f.yaml", text: []byte(text)}
		if err := d.Wrong("interfaces", "private", "eth2", "it is not there"); err.Error() != want {
			t.Errorf("%q, want %q", err, want)
		}
	}
}
