package agent

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"gridbroker/forecast/wire"
)

// SlurmReservations makes reservations by scontrol; Slurm lets operators and
// administrators do that only.
type SlurmReservations struct {
	Run   func(ctx context.Context, argv ...string) ([]byte, error)
	Users string // accounts that guests run as, comma between them
}

// Reserve implements Reserver. Start and end are both given, since Slurm takes
// a length in whole minutes, and one of zero for no end at all. IGNORE_JOBS is
// needed wherever running jobs' limits reach into the slot: they are expected to
// end before. Of each node as many cores are taken as the job needs; where Slurm
// does not grant that (cores of several processors), the nodes are.
func (s SlurmReservations) Reserve(ctx context.Context, name string, b wire.Booking) error {
	cpus, most := map[string]int32{}, int32(0)
	for _, p := range b.Slots {
		cpus[p.Node] += p.CPUs
		most = max(most, cpus[p.Node])
	}
	nodes := slices.Sorted(maps.Keys(cpus))
	const form = "2006-01-02T15:04:05"
	argv := []string{"scontrol", "create", "reservation", "reservationname=" + name,
		"starttime=" + time.Unix(b.From, 0).Local().Format(form), "endtime=" + time.Unix(b.To+reservationGrace, 0).Local().Format(form),
		"users=" + s.Users, "nodes=" + strings.Join(nodes, ","), "flags=IGNORE_JOBS"}
	cores := "corecnt=" + strings.TrimSuffix(strings.Repeat(fmt.Sprint(most, ","), len(nodes)), ",")
	out, err := s.Run(ctx, append(slices.Clone(argv), cores)...)
	if err != nil && !there(out) {
		out, err = s.Run(ctx, argv...)
	}
	if err != nil && !there(out) {
		return fmt.Errorf("scontrol create reservation %s: %w: %.200s", name, err, out)
	}
	return nil
}

// there tells whether Slurm says that a reservation exists.
func there(out []byte) bool {
	return strings.Contains(string(out), "already") || strings.Contains(string(out), "Duplicate")
}

// reservationGrace is added to the end, in seconds: Slurm kills what still runs
// when a reservation ends.
const reservationGrace = 60

// Reserved implements Reserver.
func (s SlurmReservations) Reserved(ctx context.Context, prefix string) (names []string, err error) {
	out, err := s.Run(ctx, "scontrol", "--oneliner", "show", "reservation")
	if err != nil {
		return nil, fmt.Errorf("scontrol show reservation: %w: %.200s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		for _, f := range strings.Fields(line) {
			if name, ok := strings.CutPrefix(f, "ReservationName="); ok && strings.HasPrefix(name, prefix) {
				names = append(names, name)
			}
		}
	}
	return names, nil
}

// Release implements Reserver. One that jobs still use is ended instead: Slurm
// does not delete it.
func (s SlurmReservations) Release(ctx context.Context, name string) error {
	out, err := s.Run(ctx, "scontrol", "delete", "reservationname="+name)
	if err == nil || strings.Contains(string(out), "not found") || strings.Contains(string(out), "does not exist") {
		return nil
	}
	if out2, err := s.Run(ctx, "scontrol", "update", "reservationname="+name, "endtime=now"); err != nil {
		return fmt.Errorf("scontrol delete reservation %s: %.200s; update: %.200s", name, out, out2)
	}
	return nil
}
