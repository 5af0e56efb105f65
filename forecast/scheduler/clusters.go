package scheduler

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"gridbroker/forecast/wire"
)

// clusters are what agents have told of theirs, as a transaction has it. Times are seconds of Unix time.
type clusters interface {
	// standing reads into an answer what is known of one; known: there is something, torn: not all of it. Who is to change
	// it locks it.
	standing(ctx context.Context, cluster string, lock bool, ack *wire.Ack) (known, torn bool, err error)
	// goodFor is for how many seconds more a schedule may be used: a beat may have told more since.
	goodFor(ctx context.Context, cluster string, now int64) (int64, error)
	// keep takes in a delta that goes with what is there, beat that a schedule still holds; askAgain makes the next delta be
	// refused, for a full one.
	keep(ctx context.Context, d *wire.Delta, now int64) error
	beat(ctx context.Context, b *wire.Beat, now int64) error
	askAgain(ctx context.Context, cluster string) error
	// read is what is known of one, or with "" of all, by name; site what one publishes of itself; slots its slots, where no
	// delta has brought them to who asks.
	read(ctx context.Context, one string) ([]clusterRow, error)
	site(ctx context.Context, cluster string) (*wire.Site, error)
	slots(ctx context.Context, cluster string) (*wire.Set, error)
	// count writes down what the leader has counted of one.
	count(ctx context.Context, c *cluster) error
	// beats is when each was heard of, and hear writes that down for those that have said nothing else since.
	beats(ctx context.Context) ([]beatRow, error)
	hear(ctx context.Context, list []beatRow, now int64) error
}

// clusterRow is a cluster as it is read: what its leader has of it without its slots, and what tells these.
type clusterRow struct {
	*cluster
	digest string
}

// clusterTable are the clusters in tables.
type clusterTable struct{ *statements }

// forUpdate locks what is read until the transaction ends, where the store can.
const forUpdate = " {for update}"

// standing implements clusters.
func (h clusterTable) standing(ctx context.Context, cluster string, lock bool, ack *wire.Ack) (known, torn bool, err error) {
	query := "select seq, digest, resync from cluster where name = $1"
	if lock {
		query += forUpdate
	}
	resync := 0
	err = h.rows(ctx, func(scan func(...any) error) error {
		known = true
		return scan(&ack.Seq, &ack.Digest, &resync)
	}, query, cluster)
	return known, resync != 0, err
}

// goodFor implements clusters.
func (h clusterTable) goodFor(ctx context.Context, cluster string, now int64) (good int64, err error) {
	err = h.rows(ctx, func(scan func(...any) error) error {
		var made, ttl int64
		err := scan(&made, &ttl)
		if wire.Usable(made, ttl, now) {
			good = made + ttl - now
		}
		return err
	}, "select made, ttl from cluster where name = $1", cluster)
	return good, err
}

// keep implements clusters.
func (h clusterTable) keep(ctx context.Context, d *wire.Delta, now int64) error {
	to := deltaTables{h.statements, d, now}
	if err := to.keepCluster(ctx); err != nil {
		return err
	}
	return to.keepContent(ctx)
}

// beat implements clusters.
func (h clusterTable) beat(ctx context.Context, b *wire.Beat, now int64) error {
	return h.write(ctx, "update cluster set made = $2, ttl = $3, seen = $4 where name = $1 and (made <= $2 or made > $5)", b.Cluster, b.Made, b.TTL, now,
		wire.Newest(b.TTL, now))
}

// askAgain implements clusters.
func (h clusterTable) askAgain(ctx context.Context, cluster string) error {
	_, err := h.exec(ctx, "update cluster set resync = 1 where name = $1", cluster)
	return err
}

// read implements clusters.
func (h clusterTable) read(ctx context.Context, one string) (list []clusterRow, err error) {
	err = h.rows(ctx, func(scan func(...any) error) error {
		r := clusterRow{cluster: &cluster{}}
		var drained int
		var trust, site, load []byte
		if err := scan(&r.name, &r.seq, &r.digest, &r.made, &r.ttl, &drained, &r.hits, &r.misses, &r.launchMS, &trust, &site, &load); err != nil {
			return err
		}
		r.drained = drained != 0
		list = append(list, r)
		return cmp.Or(json.Unmarshal(trust, &r.trust), json.Unmarshal(site, &r.site), json.Unmarshal(load, &r.load))
	}, `select name, seq, digest, made, ttl, drained, hits, misses, launch_ms, trust, site, load from cluster
		where name = $1 or $1 = '' order by name`, one)
	return list, err
}

// site implements clusters.
func (h clusterTable) site(ctx context.Context, cluster string) (*wire.Site, error) {
	var text []byte
	known := false
	err := h.rows(ctx, func(scan func(...any) error) error { known = true; return scan(&text) }, "select site from cluster where name = $1", cluster)
	if err == nil && !known {
		err = fmt.Errorf("cluster %s: %w", cluster, ErrNoCluster)
	}
	if err != nil {
		return nil, err
	}
	site := &wire.Site{}
	return site, json.Unmarshal(text, site)
}

// slots implements clusters.
func (h clusterTable) slots(ctx context.Context, cluster string) (*wire.Set, error) {
	set := &wire.Set{}
	err := h.rows(ctx, func(scan func(...any) error) error {
		var v wire.Slot
		err := scan(&v.ID, &v.Node, &v.CPUs, &v.GPUs, &v.Memory, &v.From, &v.To, &v.Latest, &v.Start, &v.Hold, &v.Priority, &v.Task)
		if err == nil {
			set.Put(v)
		}
		return err
	}, `select id, node, cpus, gpus, memory, begins, ends, latest, chance, hold, priority, task from content where cluster = $1`, cluster)
	return set, err
}

// count implements clusters.
func (h clusterTable) count(ctx context.Context, c *cluster) error {
	trust, err := json.Marshal(c.trust)
	if err != nil {
		return err
	}
	return h.write(ctx, "update cluster set drained = $2, hits = $3, misses = $4, launch_ms = $5, trust = $6 where name = $1",
		c.name, b2i(c.drained), c.hits, c.misses, c.launchMS, string(trust))
}

// beats implements clusters.
func (h clusterTable) beats(ctx context.Context) (list []beatRow, err error) {
	err = h.rows(ctx, func(scan func(...any) error) error {
		var r beatRow
		err := scan(&r.Name, &r.Seq, &r.Made, &r.TTL)
		list = append(list, r)
		return err
	}, "select name, seq, made, ttl from cluster")
	return list, err
}

// hear implements clusters.
func (h clusterTable) hear(ctx context.Context, list []beatRow, now int64) error {
	return h.writeEach(ctx, `update cluster set made = cast(t.value->>'made' as {int}), ttl = cast(t.value->>'ttl' as {int}), seen = $2 from {each}
		where cluster.name = t.value->>'name' and cluster.seq = cast(t.value->>'seq' as {int}) and cluster.made < cast(t.value->>'made' as {int})`, list, now)
}
