package scheduler

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"gridbroker/forecast/wire"
)

// deltaTables are the tables, as a delta changes them.
type deltaTables struct {
	*statements
	delta *wire.Delta
	now   int64 // seconds of Unix time
}

// keepCluster changes what the tables have of a cluster itself.
func (h deltaTables) keepCluster(ctx context.Context) error {
	if h.delta.Full {
		err := h.write(ctx, `insert into cluster (name, seq, digest, made, ttl, seen, site, queues, load)
			values ($1, 0, '', 0, 0, 0, '{}', '[]', '{}') on conflict (name) do update set resync = 0`, h.delta.Cluster)
		if err != nil {
			return err
		}
	}
	args := []any{h.delta.Cluster, h.delta.Seq, h.delta.Digest, h.delta.Made, h.delta.TTL, h.now}
	for _, part := range []struct {
		there bool
		v     any
	}{{h.delta.Site != nil, h.delta.Site}, {len(h.delta.Queues) > 0, h.delta.Queues}, {h.delta.Load != nil, h.delta.Load}} {
		if !part.there {
			args = append(args, nil)
			continue
		}
		text, err := json.Marshal(part.v)
		if err != nil {
			return err
		}
		args = append(args, string(text))
	}
	err := h.write(ctx, `update cluster set seq = $2, digest = $3, made = $4, ttl = $5, seen = $6,
		site = coalesce($7, site), queues = coalesce($8, queues), load = coalesce($9, load) where name = $1`, args...)
	if err != nil || h.delta.Site == nil {
		return err
	}
	return h.keepNodes(ctx)
}

// keepContent changes the tables of slots and of the site's own jobs.
func (h deltaTables) keepContent(ctx context.Context) error {
	if err := h.keepSlots(ctx); err != nil {
		return err
	}
	if err := h.keepLocal(ctx); err != nil {
		return err
	}
	return h.bounded(ctx)
}

// keepNodes puts the nodes of a site in the place of what the table has of them.
func (h deltaTables) keepNodes(ctx context.Context) error {
	if err := h.write(ctx, "delete from node where cluster = $1", h.delta.Cluster); err != nil || len(h.delta.Site.Nodes) == 0 {
		return err
	}
	rows := make([][]any, 0, len(h.delta.Site.Nodes))
	seen := make(map[string]bool, len(h.delta.Site.Nodes))
	for _, n := range h.delta.Site.Nodes {
		if seen[n.Name] { // the first counts
			continue
		}
		seen[n.Name] = true
		features := "[]"
		if len(n.Features) > 0 {
			text, err := jsonText(n.Features)
			if err != nil {
				return err
			}
			features = strings.TrimSpace(text)
		}
		rows = append(rows, []any{h.delta.Cluster, n.Name, n.CPUs, n.GPUs, n.Memory, n.Disk, features, int32(b2i(n.Up))})
	}
	return h.fill(ctx, "node", []string{"cluster", "name", "cpus", "gpus", "memory", "disk", "features", "up"}, rows)
}

// keepSlots changes the table of slots.
func (h deltaTables) keepSlots(ctx context.Context) (err error) {
	if h.delta.Full {
		return h.fillSlots(ctx)
	}
	if len(h.delta.Drop) > 0 {
		ids := make([]string, len(h.delta.Drop))
		for i, id := range h.delta.Drop {
			ids[i] = strconv.FormatUint(id, 10)
		}
		err = h.writeEach(ctx, "delete from content where cluster = $2 and id in (select cast(t.value as {id}) from {texts})", ids, h.delta.Cluster)
	}
	if err != nil || len(h.delta.Put) == 0 {
		return err
	}
	return h.writeEach(ctx, `insert into content (cluster, id, node, cpus, gpus, memory, begins, ends, latest, chance, hold, priority, task)
		select $2, cast(t.value->>'id' as {id}), t.value->>'node', cast(t.value->>'cpus' as {int}),
		cast(coalesce(t.value->>'gpus', '0') as {int}), cast(coalesce(t.value->>'memory', '0') as {int}),
		cast(t.value->>'from' as {int}), cast(coalesce(t.value->>'to', '0') as {int}), cast(coalesce(t.value->>'latest', '0') as {int}),
		cast(t.value->>'start' as {real}), cast(t.value->>'hold' as {real}), cast(coalesce(t.value->>'priority', '0') as {real}),
		coalesce(t.value->>'task', '') from {each} where true
		on conflict (cluster, id) do update set node = excluded.node, cpus = excluded.cpus, gpus = excluded.gpus,
		memory = excluded.memory, begins = excluded.begins, ends = excluded.ends, latest = excluded.latest,
		chance = excluded.chance, hold = excluded.hold, priority = excluded.priority, task = excluded.task`, h.delta.Put, h.delta.Cluster)
}

// fillSlots puts a full set in the place of what the table has of a cluster.
func (h deltaTables) fillSlots(ctx context.Context) error {
	if err := h.write(ctx, "delete from content where cluster = $1", h.delta.Cluster); err != nil || len(h.delta.Put) == 0 {
		return err
	}
	rows := make([][]any, len(h.delta.Put))
	for i := range h.delta.Put {
		v := &h.delta.Put[i]
		rows[i] = []any{h.delta.Cluster, int64(v.ID), v.Node, v.CPUs, v.GPUs, v.Memory, v.From, v.To, v.Latest, v.Start, v.Hold, v.Priority, v.Task}
	}
	return h.fill(ctx, "content", []string{"cluster", "id", "node", "cpus", "gpus", "memory", "begins", "ends", "latest",
		"chance", "hold", "priority", "task"}, rows)
}

// keepLocal changes the table of the site's own jobs.
func (h deltaTables) keepLocal(ctx context.Context) (err error) {
	if err := h.bury(ctx); err != nil {
		return err
	}
	if h.delta.Full {
		err = h.write(ctx, "delete from local_job where cluster = $1", h.delta.Cluster)
	} else if len(h.delta.JobsGone) > 0 {
		err = h.writeEach(ctx, "delete from local_job where cluster = $2 and task in (select t.value from {texts})", h.delta.JobsGone, h.delta.Cluster)
	}
	if err != nil || len(h.delta.Jobs) == 0 {
		return err
	}
	return h.writeEach(ctx, `insert into local_job (cluster, task, body) select $2, t.value->>'task', cast(t.value as text) from {each} where true
		on conflict (cluster, task) do update set body = excluded.body`, h.delta.Jobs, h.delta.Cluster)
}

// bounded refuses a delta that leads to more than a full one may have: of small ones
// there is no end.
func (h deltaTables) bounded(ctx context.Context) error {
	most := wire.DefaultLimits()
	for _, t := range []struct {
		put         int
		table, what string
		most        int
	}{{len(h.delta.Put), "content", "slots", most.Slots}, {len(h.delta.Jobs), "local_job", "jobs", most.Jobs}} {
		if h.delta.Full || t.put == 0 {
			continue
		}
		n := 0
		err := h.rows(ctx, func(scan func(...any) error) error { return scan(&n) }, "select count(*) from "+t.table+" where cluster = $1", h.delta.Cluster)
		if err != nil {
			return err
		}
		if n > t.most {
			return &RefusedError{fmt.Sprintf("the cluster would have %d %s; more than %d are not taken", n, t.what, t.most)}
		}
	}
	return nil
}
