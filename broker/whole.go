package broker

import "gridbroker/glue"

// Matching is how many resources match.
func (m *Match) Matching() int {
	if m.released {
		return m.matching
	}
	return len(m.Survivors)
}

// release forgets all that the filters say again when they are asked again:
// the matches of a plan of many different jobs would fill the memory. What the
// services and the caller spoke against stays.
func (m *Match) release() {
	if m.released {
		return
	}
	m.matching, m.released = len(m.Survivors), true
	m.Survivors, m.rows, m.filters, m.by, m.rejected = nil, nil, nil, nil, nil
}

// whole is the match with all that release forgot.
func (m *Match) whole() *Match {
	if !m.released {
		return m
	}
	again := match(m.Job, m.Resources, m.again(), m.table, nil)
	again.who, again.deploy = m.who, m.deploy
	against := map[*glue.Resource]bool{}
	for _, r := range m.later {
		against[r.Resource] = true
	}
	kept, rows := again.Survivors[:0], again.rows[:0]
	for i, r := range again.Survivors {
		if !against[r] {
			kept, rows = append(kept, r), append(rows, again.rows[i])
		}
	}
	again.Survivors, again.rows = kept, rows
	again.later = m.later
	return again
}
