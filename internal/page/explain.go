package page

var explain = screen{Name: "explain", Path: "/explain", Title: "Explain", Key: "e"}
