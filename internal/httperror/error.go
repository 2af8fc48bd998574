package httperror

import (
	"context"
	"errors"
	"net/url"
)

// Plain is why a request under ctx failed, without the address. Where a clock of ours, or
// the caller, ended it, the error of the connection says less than that.
func Plain(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return WithoutAddress(err)
}

// WithoutAddress is the error of a request without the address that it was for.
func WithoutAddress(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}
