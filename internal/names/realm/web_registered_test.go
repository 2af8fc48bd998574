package realm

import (
	"net/netip"
	"testing"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/pool"
	"github.com/realmgate/realmgate/internal/registry"
)

// A host that registers itself is led to by its web names while it is there, and takes none of the pool by them. Nothing that was
// led to it leads to who has its name or its address next.
func TestWebNamesOfRegisteredHost(t *testing.T) {
	t.Parallel()
	static, _ := webRealm(t, webText)
	d := static.With(NewRegistered())
	at := netip.MustParseAddr("10.0.1.5")
	spec := func(name model.Name, address netip.Addr) registry.HostSpec {
		return registry.HostSpec{
			Name: name, Address: address, Open: []model.Port{{Protocol: model.TCP, Port: 443, To: 8443}}, Web: true,
			Services: []registry.ServiceSpec{{Names: []model.Name{"ssh." + name}, Ports: []model.Port{{Protocol: model.TCP, Port: 22, To: 22}}}},
		}
	}
	const laptop, tv = model.Name("laptop.foo.example."), model.Name("tv.foo.example.")
	comes := func(name model.Name, address netip.Addr) {
		t.Helper()
		if _, err := d.Put("foo.example.", spec(name, address)); err != nil {
			t.Fatal(err)
		}
	}
	comes(laptop, at)
	target, known := d.WebTarget("LAPTOP.foo.example", model.TCP, 443)
	if !known || target.Host != laptop || target.To != netip.AddrPortFrom(at, 8443) {
		t.Fatalf("%+v, %t", target, known)
	}
	if e, _ := d.Find(laptop); e.Web != netip.MustParseAddr("198.18.0.80") {
		t.Errorf("it is answered at %s", e.Web)
	}
	if rows := d.WebServices(api.Filter{Host: laptop.String()}); len(rows) != 1 || rows[0].Service != laptop.String() {
		t.Errorf("%+v are listed", rows)
	}
	if hosts := d.registered.WebHosts(); len(hosts) != 1 || hosts[0].Name != laptop {
		t.Errorf("%v have web names", hosts)
	}
	lendable, lent := Lendable{d}, []model.Name(nil)
	lendable.EachRegistered(func(s pool.Service) { lent = append(lent, s.Name) })
	if n := lendable.CountRegistered(); n != 1 || len(lent) != 1 || lent[0] != "ssh."+laptop {
		t.Errorf("the pool is to have a place for %d, %v", n, lent)
	}
	if _, _, lends := lendable.Find(laptop); lends {
		t.Error("the pool lends to a web name")
	}
	leads := func() bool { return d.Leads(d.Number(laptop), model.TCP, 443, target.To) }
	number := d.Number(laptop)
	if !leads() {
		t.Error("its name does not lead to it")
	}
	d.Remove("foo.example.", laptop)
	if _, known := d.WebTarget("laptop.foo.example", model.TCP, 443); known || d.Leads(number, model.TCP, 443, target.To) || lendable.CountRegistered() != 0 {
		t.Error("it has gone, and is led to")
	}
	if _, err := d.Put("foo.example.", registry.HostSpec{Name: "plain.foo.example.", Address: at.Next().Next()}); err != nil || len(d.registered.WebHosts()) != 0 {
		t.Errorf("%v have web names: %v", d.registered.WebHosts(), err)
	}
	comes(tv, at)
	comes(laptop, at.Next())
	if d.Leads(number, model.TCP, 443, target.To) {
		t.Error("who asked for laptop is led to tv, which has its address")
	}
}
