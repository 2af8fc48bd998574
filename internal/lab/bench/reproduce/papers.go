package reproduce

// Papers lists them in the order of the page.
func Papers() []Paper {
	return []Paper{sharma(), lencse(), kadlecsik(), geofence(), hanna()}
}
