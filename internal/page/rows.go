package page

// rowsOf is a page of a list of the API.
type rowsOf[T any] struct {
	Items []T `json:"items"`
}
