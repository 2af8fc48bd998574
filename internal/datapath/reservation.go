package datapath

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/model"
)

// mergedClaims is how many more sources may claim during the again-hold of an
// offer whose claims are used up. A resolver merges equal questions that are in
// flight (unbound does), so one question can stand for several clients.
const mergedClaims = 4

// Reservation is an offer as the data plane keeps it.
type Reservation struct {
	// ID is unique; its low 32 bits are the table entry, below
	// Options.Reservations.
	ID         uint64
	Generation uint32
	Address    netip.Addr
	Protocol   model.Protocol // model.AnyProtocol: any
	Port       uint16         // 0: any
	Source     netip.Prefix   // the zero prefix: anyone
	Host       netip.Addr
	HostPort   uint16 // 0: the packet's own
	Name       uint32 // number of the service name, for listings
	Expires    model.Instant
	Again      time.Duration
	Claims     int // left
	Used       int // claims used, for a reservation read back
	ClaimedAt  model.Instant
	Open       bool // false: withdrawn, kept until its entry is used again
}

// ErrSpent says that the data plane has no such reservation, or that all its
// claims are used.
var ErrSpent = errors.New("reservation is spent or gone")

func slotOf(id uint64) uint32 { return uint32(id) + 1 }

// Offer installs the reservation: from its return on, the first packet that
// matches claims it.
func (d *Datapath) Offer(r Reservation) error {
	request := bpfReservationRequest{Slot: slotOf(r.ID)}
	request.Claims.Open = 1
	request.Claims.Left = uint16(r.Claims)
	if r.Again > 0 {
		request.Claims.Merged = mergedClaims
	}
	record := &request.Reservation
	record.Id, record.Generation, record.Name = r.ID, r.Generation, r.Name
	record.Address, record.Host = networkOrder(r.Address), networkOrder(r.Host)
	record.Protocol, record.Port, record.HostPort = uint8(r.Protocol), swap(r.Port), swap(r.HostPort)
	record.Expires, record.Again = uint64(r.Expires), uint64(r.Again)
	if r.Source.IsValid() {
		record.SourcePrefix = networkOrder(r.Source.Masked().Addr())
		record.SourceMask = networkOrder(prefixMask(r.Source.Bits()))
	}
	if err := d.call(d.objects.OfferReservation, &request); err != nil {
		return fmt.Errorf("offer %s to %s in the data plane: %w", r.Address, r.Host, err)
	}
	return nil
}

func prefixMask(length int) netip.Addr {
	mask := ^uint32(0) << (32 - length)
	return netip.AddrFrom4([4]byte{byte(mask >> 24), byte(mask >> 16), byte(mask >> 8), byte(mask)})
}

// Extend raises the claims ever granted to the reservation. ErrSpent: all were
// used meanwhile, or it is gone.
func (d *Datapath) Extend(id uint64, granted int) error {
	request := bpfReservationRequest{Slot: slotOf(id)}
	request.Reservation.Id = id
	request.Claims.Left = uint16(granted)
	return d.call(d.objects.ExtendReservation, &request)
}

// Withdrawn is what became of a reservation.
type Withdrawn struct {
	Left, Used int
	ClaimedAt  model.Instant // of the last claim
}

// Withdraw closes the reservation for good and tells what became of it:
// nothing claims it after the return.
func (d *Datapath) Withdraw(id uint64) (Withdrawn, error) {
	request := bpfReservationRequest{Slot: slotOf(id)}
	request.Reservation.Id = id
	if err := d.call(d.objects.WithdrawReservation, &request); err != nil {
		return Withdrawn{}, err
	}
	return Withdrawn{Left: int(request.Claims.Left), Used: int(request.Claims.Used),
		ClaimedAt: model.Instant(request.Reservation.ClaimedAt)}, nil
}

// call runs one of the programs that change reservations.
func (d *Datapath) call(program *ebpf.Program, request *bpfReservationRequest) error {
	if _, err := program.Run(&ebpf.RunOptions{Context: request, ContextOut: request}); err != nil {
		return fmt.Errorf("run %s: %w", program, err)
	}
	switch request.Error {
	case 0:
		return nil
	case -int32(unix.ENOENT):
		return ErrSpent
	default:
		return unix.Errno(-request.Error)
	}
}

// Reservations reads every reservation back whose entry was not used again,
// for adoption.
func (d *Datapath) Reservations() ([]Reservation, error) {
	var found []Reservation
	err := forEach(d.objects.ReservationTable, func(_ uint32, r *bpfReservation) {
		if r.Id != 0 {
			found = append(found, reservationOf(r))
		}
	})
	return found, err
}

func reservationOf(r *bpfReservation) Reservation {
	claims := claimsOf(r.Claims)
	reservation := Reservation{
		ID: r.Id, Generation: r.Generation, Name: r.Name,
		Address: addressOf(r.Address), Host: addressOf(r.Host),
		Protocol: model.Protocol(r.Protocol), Port: swap(r.Port), HostPort: swap(r.HostPort),
		Expires: model.Instant(r.Expires), Again: time.Duration(r.Again),
		Claims: int(claims.Left), Used: int(claims.Used), ClaimedAt: model.Instant(r.ClaimedAt),
		Open: claims.Open != 0,
	}
	if r.SourceMask != 0 {
		reservation.Source, _ = addressOf(r.SourcePrefix).Prefix(onesOf(r.SourceMask))
	}
	return reservation
}
