"""ROS 2 on the wire: topics, types and quality of service of ROS 2 over DDS, without a ROS installation."""
