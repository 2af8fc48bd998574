package datapath

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/model"
)

// Reservation is one answer to one asker: so many clients may claim that the binding be
// theirs to use.
type Reservation struct {
	// ID is unique; its low 32 bits are the table entry, below
	// Options.Reservations.
	ID      uint64
	Binding uint64     // ID of the binding
	Asker   netip.Addr // who was answered
	// Source is where clients must be; the zero prefix: anywhere.
	Source  netip.Prefix
	Name    uint32 // number of the name asked, for listings; 0: the binding's
	Expires model.Instant
	Claims  int // left
	Used    int // claims used, for a reservation read back
	// Merged and Window are a resolver's: when another than the asker has claimed, so many
	// more may within the window, at most 255 and 65 s.
	Merged    int
	Window    time.Duration
	ClaimedAt model.Instant
	Open      bool // false: withdrawn, kept until its entry is used again
}

// ErrSpent says that the data plane has no such reservation or binding, or that all its
// claims are used.
var ErrSpent = errors.New("reservation is spent, or it or its binding is gone")

func slotOf(id uint64) uint32 { return uint32(id) + 1 }

// Reserve installs the reservation, which Bind must come before: from its return on, the first
// client that proves itself claims it. One that expired is still to be kept for 4 s: a client
// whose SYN came in time may prove itself until then.
func (d *bindingTable) Reserve(r Reservation) error {
	request := bpfReservationRequest{Slot: slotOf(r.ID)}
	request.Claims.State = uint8(bpfClaimsStateCLAIMS_OPEN)
	request.Claims.Left = uint16(r.Claims)
	request.Claims.Merged = uint8(min(r.Merged, math.MaxUint8))
	record := &request.Reservation
	record.Id, record.Name, record.Expires = r.ID, r.Name, uint64(r.Expires)
	record.Binding, record.Number = slotOf(r.Binding), numberOf(r.Binding)
	record.Asker = networkOrder(r.Asker)
	record.Window = uint16(min(r.Window.Milliseconds(), math.MaxUint16))
	if r.Source.IsValid() {
		record.Source, record.SourceBits = networkOrder(r.Source.Masked().Addr()), uint8(r.Source.Bits())
	}
	if err := d.run(d.objects.ReserveBinding, &request, &request.Error); err != nil {
		return fmt.Errorf("reserve binding %#x for %s in the data plane: %w", r.Binding, r.Asker, err)
	}
	return nil
}

// Extend raises the claims ever granted to the reservation. ErrSpent: all were
// used meanwhile, or it is gone.
func (d *bindingTable) Extend(id uint64, granted int) error {
	request := bpfReservationRequest{Slot: slotOf(id)}
	request.Reservation.Id = id
	request.Claims.Left = uint16(granted)
	return d.run(d.objects.ExtendReservation, &request, &request.Error)
}

// Withdrawn is what became of a reservation.
type Withdrawn struct {
	Left, Used int
	ClaimedAt  model.Instant // of the last claim
}

// Withdraw closes the reservation for good and tells what became of it:
// nothing claims it after the return.
func (d *bindingTable) Withdraw(id uint64) (Withdrawn, error) {
	request := bpfReservationRequest{Slot: slotOf(id)}
	request.Reservation.Id = id
	if err := d.run(d.objects.WithdrawReservation, &request, &request.Error); err != nil {
		return Withdrawn{}, err
	}
	return Withdrawn{Left: int(request.Claims.Left), Used: int(request.Claims.Used),
		ClaimedAt: model.Instant(request.Reservation.ClaimedAt)}, nil
}

// run runs one of the programs that change bindings and reservations, whose request says in
// failed how it went.
func (d *core) run(program *ebpf.Program, request any, failed *int32) error {
	if _, err := program.Run(&ebpf.RunOptions{Context: request, ContextOut: request}); err != nil {
		return fmt.Errorf("run %s: %w", program, err)
	}
	switch *failed {
	case 0:
		return nil
	case -int32(unix.ENOENT):
		return ErrSpent
	default:
		return unix.Errno(-*failed)
	}
}

// Reservations reads every reservation back whose entry was not used again,
// for adoption.
func (d *bindingTable) Reservations() ([]Reservation, error) {
	var found []Reservation
	err := ForEach(d.objects.ReservationTable, func(_ uint32, r *bpfReservation) {
		if r.Id != 0 {
			found = append(found, reservationOf(r))
		}
	})
	return found, err
}

func reservationOf(r *bpfReservation) Reservation {
	claims := claimsOf(r.Claims)
	reservation := Reservation{
		ID: r.Id, Binding: bindingID(r.Binding, r.Number), Name: r.Name, Asker: addressOf(r.Asker), Expires: model.Instant(r.Expires),
		Claims: int(claims.Left), Used: int(claims.Used), Merged: int(claims.Merged),
		Window: time.Duration(r.Window) * time.Millisecond, ClaimedAt: model.Instant(r.ClaimedAt),
		Open: bpfClaimsState(claims.State) != bpfClaimsStateCLAIMS_CLOSED,
	}
	if r.SourceBits != 0 {
		reservation.Source = netip.PrefixFrom(addressOf(r.Source), int(r.SourceBits))
	}
	return reservation
}
