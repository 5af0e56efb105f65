package jobs

import (
	"context"
	"time"

	"gridbroker/broker"
	"gridbroker/plugins"
)

// underWay lists the jobs made since a time that a back-end has or may have,
// by resource.
func (s *Store) underWay(ctx context.Context, since time.Time) (map[string][]broker.Sent, error) {
	rows, err := s.db.QueryContext(ctx, `SELECT json_extract(body, '$.resource'), json_extract(body, '$.sent'), coalesce(json_extract(body, '$.slots'), 1)
		FROM jobs WHERE state IN (?,?,?,?,?) AND created >= ?`,
		plugins.Submitting, plugins.Accepted, plugins.Preparing, plugins.Queued, plugins.Running, since.UnixMilli())
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := map[string][]broker.Sent{}
	for rows.Next() {
		var resource, at string
		var j broker.Sent
		if err := rows.Scan(&resource, &at, &j.Slots); err != nil {
			return nil, err
		}
		if j.At, err = time.Parse(time.RFC3339Nano, at); err != nil {
			return nil, err
		}
		all[resource] = append(all[resource], j)
	}
	return all, rows.Err()
}
