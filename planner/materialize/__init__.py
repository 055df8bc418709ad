"""What is kept between runs, and which runs are opened."""
