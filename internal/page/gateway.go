package page

// gateway shows what the status has, which each page knows.
var gateway = screen{Name: "gateway", Path: "/gateway", Title: "Gateway", Key: "w"}
