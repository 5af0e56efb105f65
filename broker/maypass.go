package broker

// MayPass reports whether the job may match later without a change of its
// own: when no source published anything, or when a resource was turned down
// for nothing but what does not last.
func (m *Match) MayPass() bool {
	if len(m.Resources) == 0 {
		return true
	}
	m = m.whole()
	for _, r := range m.Rejected() {
		if r.Reason(m.Job).Temporary && m.onlyForNow(r) {
			return true
		}
	}
	return false
}

// onlyForNow reports whether all that speaks against a resource may change.
func (m *Match) onlyForNow(r *Rejection) bool {
	for _, f := range m.filters {
		if why := f.Reject(m.Job, r.Resource); why != nil && !why.Temporary {
			return false
		}
	}
	return true
}
